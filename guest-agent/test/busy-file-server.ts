import { pbkdf2 } from 'node:crypto'
import { openSync, statSync } from 'node:fs'
import { createAgentServer, type Routes } from '../src/server.ts'

/*
 * The agent's server with one route, `GET /file`, in a process whose only file thread is kept busy, so
 * that callers go away while a read is under way. Prints a line once it listens.
 */
const [filePath, socketPath] = process.argv.slice(2) as [string, string]

const routes: Routes = new Map([
  [
    'GET /file',
    async () => {
      const length = statSync(filePath).size
      return { fd: openSync(filePath, 'r'), offset: 0, length, headers: {} }
    },
  ],
])
const keepBusy = () => pbkdf2('password', 'salt', 20_000, 32, 'sha256', keepBusy)

const server = createAgentServer(routes)
server.listen(socketPath, () => {
  for (let calls = 0; calls < 4; calls += 1) keepBusy()
  console.log('listening')
})
