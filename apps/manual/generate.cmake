# Writes the manual pages and the completions of shells, as the command prints them, into the folder `out`.
# Variables: command, out.
function(save file)
  execute_process(COMMAND "${command}" ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE "${out}/${file}" "${text}")
  set(text "${text}" PARENT_SCOPE)
endfunction()

save(bash-completion/completions/anabranch completion bash)
save(zsh/site-functions/_anabranch completion zsh)
save(fish/vendor_completions.d/anabranch.fish completion fish)
save(man/man1/anabranch.1 man)
string(REGEX MATCHALL "anabranch\\\\-[a-z0-9]+" pages "${text}")
foreach(page IN LISTS pages)
  string(REPLACE "anabranch\\-" "" subcommand "${page}")
  save("man/man1/anabranch-${subcommand}.1" man ${subcommand})
endforeach()
