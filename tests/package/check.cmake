# Builds the consumer project in a fresh folder and runs it: cmake -DKIND=installed|fetched ... -P check.cmake
# SOURCE: the project; BUILD: its build tree; FOLDER: scratch space. Fails unless the consumer prints its makespan.
include(${CMAKE_CURRENT_LIST_DIR}/../step.cmake)

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
set(options -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} "-DCMAKE_CXX_FLAGS=${FLAGS}")
if(KIND STREQUAL "installed")
  step(install ${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/prefix)
  list(APPEND options -DCMAKE_PREFIX_PATH=${FOLDER}/prefix)
  # The installed program runs from where it was put.
  step(program ${FOLDER}/prefix/bin/dashlab --version)
else()
  list(APPEND options -DDASHLAB_SOURCE=${SOURCE} -DDASHLAB_CUDA=OFF)
endif()
step(configure ${CMAKE_COMMAND} -S ${SOURCE}/tests/package -B ${FOLDER}/consumer ${options})
step(build ${CMAKE_COMMAND} --build ${FOLDER}/consumer --target consumer)
step(run ${FOLDER}/consumer/consumer)
if(NOT output STREQUAL "makespan 11.25\n")
  message(FATAL_ERROR "the consumer printed: ${output}")
endif()
file(REMOVE_RECURSE ${FOLDER})
