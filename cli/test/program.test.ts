import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

const main = join(import.meta.dirname, '..', 'src', 'main.ts')

test('the help names every command and the data folder', () => {
  const { stdout, status } = computer('--help')
  assert.equal(status, 0)
  for (const word of ['up', 'down', 'doctor', 'COMPUTER_DATA']) assert.match(stdout, RegExp(word))
})

test('each command explains itself', () => {
  for (const name of ['up', 'down', 'doctor']) {
    const { stdout, status } = computer(name, '--help')
    assert.equal(status, 0)
    assert.match(stdout, RegExp(`Usage: computer ${name}`))
  }
})

test('the version is that of the package', () => {
  assert.match(computer('--version').stdout, /^\d+\.\d+\.\d+\n$/)
})

test('an unknown command fails and points to the help', () => {
  const { stderr, status } = computer('fly')
  assert.equal(status, 1)
  assert.match(stderr, /unknown command 'fly'[^]*computer --help/)
})

test('what the program of the server answers is exit code and output of the command', () => {
  const { stdout, status } = computer('doctor', '--json')
  const { healthy } = JSON.parse(stdout) as { healthy: boolean }
  assert.equal(status, healthy ? 0 : 1)
})

function computer(...args: string[]) {
  return spawnSync(process.execPath, [main, ...args], {
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...process.env, COMPUTER_API_PORT: '0', COMPUTER_GATEWAY_PORT: '0' },
  })
}
