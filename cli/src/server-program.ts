import { ApiError } from '@computer/sdk'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

type ServerProgram =
  `main-${'up' | 'down' | 'doctor' | 'admin' | 'join' | 'migrate' | 'role' | 'backup' | 'restore' | 'install-service' | 'uninstall'}.ts`

/**
 * Becomes a program of the server: it replaces this one in its process, so that none stays behind to wait for
 * it. The server is found by its place in this repository: the published CLI does not include it.
 */
export function becomeServerProgram(name: ServerProgram, args: readonly string[] = []): never {
  const path = fileURLToPath(new URL(`../../server/src/${name}`, import.meta.url))
  if (!existsSync(path)) {
    const message =
      'this command needs the server itself: run it on the host of the server, as /usr/local/bin/computer'
    throw new ApiError('unsupported_operation', message)
  }
  return process.execve!(process.execPath, [process.execPath, path, ...args], process.env)
}
