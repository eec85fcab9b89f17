# Install rules and the CMake package: after `cmake --install build`, find_package(dashlab) gives dashlab::core,
# dashlab::emulator, dashlab::viz (and dashlab::gpu where it was built). What a module links to decides what the
# package looks for, so nobody keeps a second list.
include(CMakePackageConfigHelpers)

# Which find_package brings an imported target. A static library needs its private dependencies at link time too.
function(dashlab_package_of target result)
  if(target MATCHES "^OpenMP::")
    set(${result} "OpenMP COMPONENTS CXX" PARENT_SCOPE)
  elseif(target MATCHES "^CUDA::")
    set(${result} "CUDAToolkit" PARENT_SCOPE)
  else()
    string(REGEX REPLACE "::.*" "" package ${target})
    set(${result} ${package} PARENT_SCOPE)
  endif()
endfunction()

set(dashlab_modules "")
set(dashlab_dependencies "")
foreach(module core emulator gpu viz)
  if(NOT TARGET dashlab_${module})
    continue()
  endif()
  list(APPEND dashlab_modules ${module})
  get_target_property(linked dashlab_${module} LINK_LIBRARIES)
  get_target_property(interface dashlab_${module} INTERFACE_LINK_LIBRARIES)
  foreach(library IN LISTS linked interface)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" library "${library}")
    if(library MATCHES "^dashlab::" OR NOT library MATCHES "::")
      continue()
    endif()
    dashlab_package_of(${library} package)
    list(APPEND dashlab_dependencies "${package}")
  endforeach()
  install(TARGETS dashlab_${module} EXPORT dashlabTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(EXISTS ${PROJECT_SOURCE_DIR}/${module}/include)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${module}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
      FILES_MATCHING PATTERN "*.hpp")
  endif()
endforeach()
list(REMOVE_DUPLICATES dashlab_dependencies)

list(TRANSFORM dashlab_dependencies REPLACE "(.+)" "find_dependency(\\1)")
list(JOIN dashlab_dependencies "\n" DASHLAB_FIND_DEPENDENCIES)
list(JOIN dashlab_modules " " DASHLAB_MODULES)

set(dashlab_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/dashlab)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/dashlabConfig.cmake.in
  ${PROJECT_BINARY_DIR}/dashlabConfig.cmake INSTALL_DESTINATION ${dashlab_package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dashlabConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dashlabConfig.cmake ${PROJECT_BINARY_DIR}/dashlabConfigVersion.cmake
  DESTINATION ${dashlab_package_folder})
install(EXPORT dashlabTargets NAMESPACE dashlab:: DESTINATION ${dashlab_package_folder})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CITATION.cff
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
