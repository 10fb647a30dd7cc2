#pragma once

/// ANABRANCH_FOR_EACH(macro, type, a, b, ...): macro(type, a) macro(type, b) ..., up to 256 of them.
#define ANABRANCH_FOR_EACH(macro, type, ...) \
  __VA_OPT__(ANABRANCH_EXPAND_4(ANABRANCH_NEXT(macro, type, __VA_ARGS__)))

#define ANABRANCH_NEXT(macro, type, first, ...) \
  macro(type, first) __VA_OPT__(ANABRANCH_NEXT_AGAIN ANABRANCH_PARENTHESES(macro, type, __VA_ARGS__))
// What expands to the name of a macro in its own expansion is expanded when it is looked at again.
#define ANABRANCH_NEXT_AGAIN() ANABRANCH_NEXT
#define ANABRANCH_PARENTHESES ()
#define ANABRANCH_EXPAND_1(...) __VA_ARGS__
#define ANABRANCH_EXPAND_2(...) \
  ANABRANCH_EXPAND_1(           \
      ANABRANCH_EXPAND_1(ANABRANCH_EXPAND_1(ANABRANCH_EXPAND_1(ANABRANCH_EXPAND_1(__VA_ARGS__)))))
#define ANABRANCH_EXPAND_3(...) \
  ANABRANCH_EXPAND_2(           \
      ANABRANCH_EXPAND_2(ANABRANCH_EXPAND_2(ANABRANCH_EXPAND_2(ANABRANCH_EXPAND_2(__VA_ARGS__)))))
#define ANABRANCH_EXPAND_4(...) \
  ANABRANCH_EXPAND_3(ANABRANCH_EXPAND_3(ANABRANCH_EXPAND_3(ANABRANCH_EXPAND_3(__VA_ARGS__))))
