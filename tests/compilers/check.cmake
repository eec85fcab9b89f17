# Builds the golden test in a fresh folder and runs it: cmake -DCOMPILER= -DFLAGS= -DFOLDER= ... -P check.cmake
include(${CMAKE_CURRENT_LIST_DIR}/../step.cmake)

file(REMOVE_RECURSE ${FOLDER})
step(configure ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${FOLDER} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=None
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} "-DCMAKE_CXX_FLAGS=${FLAGS}")
file(STRINGS ${FOLDER}/compile_commands.json command REGEX "product_kernel")
message("${command}")
step(build ${CMAKE_COMMAND} --build ${FOLDER} --target test_golden)
step(run ${FOLDER}/test_golden)
message("${output}")
file(REMOVE_RECURSE ${FOLDER})
