# The one source of compiler flags: how the packets library, the echo servers and the tests of both are compiled.
#
# ALLOCPOOL_VARIANTS lists how, and each is an interface library, allocpool_flags_<variant>: `plain`, as trials run it,
# and with tests one for each family of sanitizers, which exclude each other.
include_guard(GLOBAL)

option(ALLOCPOOL_TESTS "Build the tests, under sanitizers too (needs GoogleTest, fetched when not installed)" OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# Of the packets library alone. Joining two neighbouring fields into one vector load stalls when they have just been
# stored one by one: `dummy`, whose one packet is written and read at once, took 10.5 ns instead of 7.3. The option shows
# what hangs on that choice.
option(ALLOCPOOL_SLP "Let the compiler join neighbouring fields into vectors, as it does by default" OFF)
if(ALLOCPOOL_SLP)
  set(ALLOCPOOL_PACKETS_FLAGS -ftree-slp-vectorize)
else()
  set(ALLOCPOOL_PACKETS_FLAGS -fno-tree-slp-vectorize)
endif()

# Of it, too: a JVM compiles for the CPU that it finds, a library that is handed out for the family's first.
option(ALLOCPOOL_HOST_CPU "Compile for the CPU of this machine alone" OFF)
if(ALLOCPOOL_HOST_CPU)
  list(APPEND ALLOCPOOL_PACKETS_FLAGS -march=native)
endif()

set(ALLOCPOOL_VARIANTS plain)
if(ALLOCPOOL_TESTS)
  list(APPEND ALLOCPOOL_VARIANTS address thread)
  # Three builds at once: most of what they cost is headers, which are parsed once for all files of a library. What
  # trials run is compiled file by file.
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)
endif()
set(ALLOCPOOL_FLAGS_plain)
set(ALLOCPOOL_FLAGS_address -fsanitize=address,undefined)
set(ALLOCPOOL_FLAGS_thread -fsanitize=thread)

find_package(Threads REQUIRED)

foreach(variant IN LISTS ALLOCPOOL_VARIANTS)
  add_library(allocpool_flags_${variant} INTERFACE)
  target_compile_options(allocpool_flags_${variant} INTERFACE -Wall -Wextra -Werror)
  target_link_libraries(allocpool_flags_${variant} INTERFACE Threads::Threads)
  if(ALLOCPOOL_FLAGS_${variant})
    list(APPEND ALLOCPOOL_FLAGS_${variant} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
    target_compile_options(allocpool_flags_${variant} INTERFACE ${ALLOCPOOL_FLAGS_${variant}})
    target_link_options(allocpool_flags_${variant} INTERFACE ${ALLOCPOOL_FLAGS_${variant}})
  endif()
  # What assertions expand to is most of a test, runs once and takes twice as long to optimize as to compile.
  add_library(allocpool_test_flags_${variant} INTERFACE)
  target_compile_options(allocpool_test_flags_${variant} INTERFACE -O0)
endforeach()

# Compiler and flags of a variant of the packets library, one line.
function(allocpool_build_info variant result)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
  list(JOIN ALLOCPOOL_PACKETS_FLAGS " " packets_flags)
  list(JOIN ALLOCPOOL_FLAGS_${variant} " " variant_flags)
  string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}} ${packets_flags} ${variant_flags}" flags)
  set(${result} "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE} ${flags}" PARENT_SCOPE)
endfunction()
