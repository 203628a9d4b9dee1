import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { connect, constants, type ClientHttp2Session } from 'node:http2'
import { connect as dial } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'

const rounds = 200
const fileBytes = 4 * 1024 * 1024

test('downloads that are abandoned at any moment neither end the agent nor leave a file open', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'downloads-'))
  const filePath = join(folder, 'file')
  const socketPath = join(folder, 'agent.sock')
  writeFileSync(filePath, Buffer.alloc(fileBytes, 'x'))
  const program = join(import.meta.dirname, 'busy-file-server.ts')
  const server = spawn(process.execPath, [program, filePath, socketPath], {
    env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  })
  await once(server.stdout, 'data')

  for (let round = 0; round < rounds; round += 1) {
    const session = open(socketPath)
    const call = session.request({ ':path': '/file' })
    call.on('error', () => {}).resume()
    await pause(round % 20)
    if (round % 2 === 0) call.close(constants.NGHTTP2_CANCEL)
    else session.destroy()
    await pause(2)
    session.destroy()
    assert.equal(server.signalCode, null, `ended in round ${round}`)
  }

  const session = open(socketPath)
  const call = session.request({ ':path': '/file' })
  let received = 0
  for await (const chunk of call) received += chunk.length
  session.destroy()
  assert.equal(received, fileBytes)
  while (countOpen(server.pid!, filePath) > 0) await pause(10)
})

function open(socketPath: string): ClientHttp2Session {
  const socket = dial(socketPath)
  const session = connect('http://agent', { createConnection: () => socket })
  for (const emitter of [socket, session]) emitter.on('error', () => {})
  return session
}

function countOpen(pid: number, path: string): number {
  const descriptors = readdirSync(`/proc/${pid}/fd`)
  return descriptors.filter((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === path).length
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}
