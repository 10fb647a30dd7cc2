// The main function of every test program. It takes long to compile, so it is compiled once.
#define CATCH_CONFIG_MAIN
#include "support/catch.h"
