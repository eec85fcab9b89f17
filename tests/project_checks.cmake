# Tests of the project as a whole: its documents and its package. They need Python 3, or a compiler at test time.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME "docs: every link in the Markdown files resolves"
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/docs/links.py ${PROJECT_SOURCE_DIR})
  file(GLOB documents CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/*.md ${PROJECT_SOURCE_DIR}/docs/*.md)
  foreach(document IN LISTS documents)
    file(STRINGS ${PROJECT_SOURCE_DIR}/${document} fences REGEX "^```(console|python)")
    if(fences)
      add_test(NAME "docs: the examples of ${document} work"
        COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/docs/console_examples.py
                ${PROJECT_SOURCE_DIR}/${document} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${PROJECT_SOURCE_DIR})
    endif()
  endforeach()
  add_test(NAME "docs: the example of CONTRIBUTING.md is what the tests compile"
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/docs/contributing.py ${PROJECT_SOURCE_DIR})
  if(TARGET dashlab_program)
    add_test(NAME "docs: the command-line reference is what --help says"
      COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/cli_reference.py $<TARGET_FILE:dashlab_program>
              ${PROJECT_SOURCE_DIR}/docs/cli.md --check)
  endif()
  find_program(DASHLAB_DOXYGEN doxygen)
  if(DASHLAB_DOXYGEN)
    add_test(NAME "docs: every public name is documented"
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/docs/api.py ${DASHLAB_DOXYGEN} ${PROJECT_SOURCE_DIR}
              ${CMAKE_CURRENT_BINARY_DIR}/api)
  endif()
else()
  message(STATUS "Python 3 not found: the documents are not tested")
endif()

foreach(kind installed fetched)
  if(kind STREQUAL "installed" AND NOT (DASHLAB_PROGRAM AND DASHLAB_INSTALL))
    continue()
  endif()
  add_test(NAME "package: a consumer builds against the ${kind} library"
    COMMAND ${CMAKE_COMMAND} -DKIND=${kind} -DSOURCE=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR}
            -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/package-${kind} -DGENERATOR=${CMAKE_GENERATOR}
            -DCOMPILER=${CMAKE_CXX_COMPILER} -DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER} -DFLAGS=${CMAKE_CXX_FLAGS}
            -P ${CMAKE_CURRENT_SOURCE_DIR}/package/check.cmake)
  set_tests_properties("package: a consumer builds against the ${kind} library" PROPERTIES LABELS slow)
endforeach()

# "g++ -O0;clang++ -O3", say: the golden digests once more under each of these.
set(DASHLAB_COMPILER_TESTS "" CACHE STRING "Compilers with flags, separated by semicolons, that must give the golden bits")
foreach(wish IN LISTS DASHLAB_COMPILER_TESTS)
  string(REPLACE " " ";" flags "${wish}")
  list(POP_FRONT flags compiler)
  list(JOIN flags " " flags)
  string(MAKE_C_IDENTIFIER "${wish}" folder)
  add_test(NAME "compilers: ${wish} gives the golden bits"
    COMMAND ${CMAKE_COMMAND} -DCOMPILER=${compiler} -DFLAGS=${flags} -DGENERATOR=${CMAKE_GENERATOR}
            -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/compilers/${folder} -DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
            -P ${CMAKE_CURRENT_SOURCE_DIR}/compilers/check.cmake)
  set_tests_properties("compilers: ${wish} gives the golden bits" PROPERTIES LABELS slow)
endforeach()
