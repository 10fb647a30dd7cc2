#include "apps/common/exit_status.h"

#include <unistd.h>

#include <csignal>
#include <exception>
#include <filesystem>
#include <map>
#include <new>
#include <stdexcept>
#include <typeinfo>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "apps/common/terminal.h"
#include "apps/common/usage_error.h"

namespace anabranch::apps {

namespace {

/// An exception that nobody can catch, for example one from a library's own thread, has a status too. This
/// does not return, and leaves no time for destructors.
[[noreturn]] void end_process() noexcept {
  int status = internal_error;
  if (std::current_exception()) {
    try {
      throw;
    } catch (const std::runtime_error& e) {
      if (typeid(e) == typeid(std::runtime_error)) {  // from a worker of oneTBB's that got no other thread
        print_error({e.what()});
        ::_exit(no_resources);
      }
      status = explain_failure(0, {});
    } catch (...) {
      status = explain_failure(0, {});
    }
  } else {
    print_error({"internal error: std::terminate without an exception"});
  }
  ::_exit(status);
}

void set_terminate() { std::set_terminate(end_process); }

/// Before any constructor of a static object, in whichever library: they allocate.
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_all)() = set_terminate;

const std::map<int, std::string>& usual_meanings() {
  static const std::map<int, std::string> all{{done, "done"},
                                              {answer_is_no, "done, and the answer is no"},
                                              {usage, "usage"},
                                              {bad_data, "bad input data"},
                                              {io_failed, "input or output failed"},
                                              {no_resources, "a resource limit"},
                                              {no_backend, "back end not available"},
                                              {internal_error, "internal error"},
                                              {by_signal + SIGHUP, "stopped by SIGHUP"},
                                              {by_signal + SIGINT, "by SIGINT"},
                                              {by_signal + SIGTERM, "by SIGTERM (a second signal: at once)"}};
  return all;
}

}  // namespace

std::string exit_statuses(std::initializer_list<StatusText> more) {
  std::map<int, std::string> meanings = usual_meanings();
  for (const int status : {answer_is_no, bad_data, no_backend}) meanings.erase(status);
  for (const StatusText& one : more)
    meanings[one.status] = one.meaning.empty() ? usual_meanings().at(one.status) : one.meaning;
  std::string text = "Exit status:";
  for (const auto& [status, meaning] : meanings)
    text += fmt::format("{} {} {}", text.ends_with(':') ? "" : ";", status, meaning);
  return text;
}

int explain_failure(int signal, std::string_view help) noexcept {
  try {
    throw;
  } catch (const UsageError& e) {
    print_error({e.what(), " (", help, ")"});
    return usage;
  } catch (const Cancelled& e) {
    if (signal) return by_signal + signal;
    print_error({e.what()});
    return internal_error;
  } catch (const DataError& e) {
    print_error({e.what()});
    return bad_data;
  } catch (const RunError& e) {
    print_error({e.what()});  // the programs are ours: what has no meaning stands in the data
    return bad_data;
  } catch (const IoError& e) {
    print_error({e.what()});
    return io_failed;
  } catch (const ResourceError& e) {
    print_error({e.what()});
    return no_resources;
  } catch (const std::bad_alloc&) {
    print_error({"out of memory"});
    return no_resources;
  } catch (const BackendUnavailable& e) {
    print_error({e.what()});
    return no_backend;
  } catch (const std::filesystem::filesystem_error& e) {
    print_error({e.what()});
    return io_failed;
  } catch (const std::exception& e) {
    print_error({"internal error: ", e.what()});
    return internal_error;
  } catch (...) {
    print_error({"internal error: an exception of an unknown type"});
    return internal_error;
  }
}

}  // namespace anabranch::apps
