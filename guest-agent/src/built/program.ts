import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Script } from 'node:vm'

/**
 * The program of a build: all of the agent except its first steps, as an expression of a function
 * with the parameters that `runProgram` passes. Beside it is V8's cache of the compiled code, which
 * halves the time to load. V8 refuses a cache of another version or of other flags, and then compiles.
 */
type Program = {
  readonly path: string
  readonly source: string
  readonly cachedData: Buffer | undefined
}

export function readProgram(path: string): Program {
  return {
    path,
    source: readFileSync(path, 'latin1'),
    cachedData: readOptional(`${path}.cache`),
  }
}

export function compileProgram({ path, source, cachedData }: Program): Script {
  return new Script(source, { filename: path, ...(cachedData && { cachedData }) })
}

export function runProgram({ path }: Program, script: Script): typeof import('../agent.ts') {
  const module = { exports: {} }
  script.runInThisContext()(module, createRequire(path), path)
  return module.exports as typeof import('../agent.ts')
}

function readOptional(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}
