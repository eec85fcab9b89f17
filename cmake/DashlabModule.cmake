# dashlab_module(NAME SOURCES ... PUBLIC libs... PRIVATE libs...): one library dashlab::NAME with the project's warnings.
# -ffp-contract=off everywhere: a fused multiply-add the source does not name would change bits.
function(dashlab_compile_options target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers -ffp-contract=off>
    # g++ 12 sees overlapping copies in std::string where there are none (GCC bug 105651).
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${DASHLAB_WERROR}>>:-Werror>)
endfunction()

function(dashlab_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(dashlab_${name} ${ARG_SOURCES})
  add_library(dashlab::${name} ALIAS dashlab_${name})
  set_target_properties(dashlab_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(dashlab_${name} PUBLIC cxx_std_20)
  target_include_directories(dashlab_${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(dashlab_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  dashlab_compile_options(dashlab_${name})
endfunction()
