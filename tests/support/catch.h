#pragma once

// The test framework, Catch2 v2, behind one header: tests include this and nothing of Catch2 itself.

#include <catch2/catch.hpp>
