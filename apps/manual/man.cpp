#include <algorithm>
#include <cctype>

#include <anabranch/version.h>

#include <fmt/format.h>

#include "apps/manual/subcommands.h"

namespace anabranch::apps {

namespace {

/// Text of any kind as text of roff.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out += std::string("\\&") + c;
    else
      out += c;
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string title(const std::string& page, const std::string& description) {
  return fmt::format(".TH \"{}\" 1 \"\" \"anabranch {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
                     upper(page), version_string, roff(page), roff(description));
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string synopsis_of(const OptionText& option) {
  const std::string& name = option.names.back();
  std::string text = option.positional ? italic(name) : bold(name);
  if (!option.positional && !option.value.empty()) text += " " + italic(option.value);
  if (option.several) text += " ...";
  return option.required ? text : "[" + text + "]";
}

std::string heading_of(const OptionText& option) {
  if (option.positional) return italic(option.names[0]) + " (" + italic(option.value) + ")";
  std::string text;
  for (const std::string& name : option.names) text += (text.empty() ? "" : ", ") + bold(name);
  return option.value.empty() ? text : text + " " + italic(option.value);
}

/// Of "Exit status: 0 done; 1 ..." a paragraph for each status.
std::string status_section(const std::string& exit_status) {
  std::string out = ".SH EXIT STATUS\n", text = exit_status;
  std::replace(text.begin(), text.end(), '\n', ' ');
  text.erase(0, text.find(": ") + 2);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    const std::string one = text.substr(begin, end - begin);
    begin = text.find_first_not_of(' ', std::min(end + 1, text.size()));
    const std::size_t meaning = one.find(' ');
    out += fmt::format(".TP\n{}\n{}\n", bold(one.substr(0, meaning)), roff(one.substr(meaning + 1)));
  }
  return out;
}

}  // namespace

std::string manual_page(const std::vector<SubcommandText>& subcommands, const std::string& description,
                        const std::string& exit_status) {
  std::string out = title("anabranch", description);
  out += ".SH SYNOPSIS\n" + bold("anabranch") + " " + italic("SUBCOMMAND") + " ...\n.SH SUBCOMMANDS\n";
  for (const SubcommandText& sub : subcommands)
    out += fmt::format(".TP\n{}\n{}\n", bold(sub.name), roff(sub.description));
  out += status_section(exit_status);
  out += ".SH SEE ALSO\n";
  std::string pages;
  for (const SubcommandText& sub : subcommands)
    pages += (pages.empty() ? "" : ",\n") + bold("anabranch-" + sub.name) + "(1)";
  return out + pages + "\n";
}

std::string manual_page(const SubcommandText& sub) {
  std::string out = title("anabranch-" + sub.name, sub.description);
  out += ".SH SYNOPSIS\n" + bold("anabranch " + sub.name);
  for (const bool positional : {true, false})
    for (const OptionText& option : sub.options)
      if (option.positional == positional) out += "\n" + synopsis_of(option);
  out += "\n.SH OPTIONS\n";
  std::string group = "Options";
  for (const bool positional : {true, false})
    for (const OptionText& option : sub.options) {
      if (option.positional != positional) continue;
      if (!positional && option.group != group) out += ".SS " + (group = option.group) + "\n";
      out += fmt::format(".TP\n{}\n{}\n", heading_of(option), roff(option.whole_description()));
    }
  return out + status_section(sub.exit_status) + ".SH SEE ALSO\n" + bold("anabranch") + "(1), " +
         roff(sub.page) + "\n";
}

}  // namespace anabranch::apps
