#pragma once

// ANABRANCH_API marks what the shared library shows. All else is hidden.
//
// Mark free functions and the classes whose members are defined in the library. Exception classes that users
// catch need it too: without it a `catch` in the program would not recognise an exception thrown in the
// library. Templates and inline functions need no mark.

#define ANABRANCH_API __attribute__((visibility("default")))
