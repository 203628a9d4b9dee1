import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

const main = join(import.meta.dirname, '..', 'src', 'main.ts')

test('the help names every command and the data folder', () => {
  const { stdout, status } = computer('--help')
  assert.equal(status, 0)
  for (const word of ['up', 'down', 'doctor', 'admin', 'COMPUTER_DATA'])
    assert.match(stdout, RegExp(word))
})

test('each server command has a help text', () => {
  for (const name of ['up', 'down', 'doctor', 'install-service', 'uninstall']) {
    const { stdout, status } = computer(name, '--help')
    assert.equal(status, 0)
    assert.match(stdout, RegExp(`Usage: computer ${name}`))
  }
})

test('install-service prints the unit of this checkout or of the command in the PATH', () => {
  const { stdout, status } = computer('install-service', '--print')
  assert.equal(status, 0)
  assert.match(stdout, /^# Written by `computer install-service`/)
  assert.match(stdout, /^ExecStart="?\/.*\/(cli\/)?bin\/computer"? up$/m)
})

test('each admin command has a help text', () => {
  const { stdout, status } = computer('admin', '--help')
  assert.equal(status, 0)
  assert.match(stdout, /Exit codes: 0 success; 1 refused.*; 2 no database reachable/)
  const commands = {
    user: ['create', 'reset-password', 'disable', 'enable', 'list'],
    org: ['list', 'set-plan'],
    catalog: ['show', 'apply'],
    billing: ['verify'],
    key: ['create'],
    secrets: ['rotate'],
  }
  for (const [noun, verbs] of Object.entries(commands)) {
    const { stdout: help } = computer('admin', noun, '--help')
    for (const verb of verbs) assert.match(help, RegExp(`^  ${verb} .*\\S`, 'm'))
  }
  assert.match(stdout, /^  login-link .*\S/m)
  assert.match(computer('admin', 'login-link', '--help').stdout, /on as carefully as a password/)
  assert.match(computer('admin', 'org', 'set-plan', '--help').stdout, /largest_size/)
})

test('a password is never an argument, and invalid usage is refused', () => {
  const refused = (args: readonly string[], message: RegExp) => {
    const { stderr, status } = computer('admin', ...args)
    assert.equal(status, 2)
    assert.match(stderr, message)
  }
  const create = ['user', 'create', '--email', 'a@example.com']
  refused([...create, '--password', 'x'], /unknown option '--password'/)
  refused([...create, '--role', 'owner'], /'--role' needs '--organization'/)
  refused([...create, '--organization', 'org_1', '--role', 'king'], /owner, admin, member/)
  refused(['user', 'create'], /required option '--email/)
  refused(['org', 'set-plan', 'org_1', 'pro', '--limit', 'machines'], /key=value/)
})

test('--version prints the package version', () => {
  assert.match(computer('--version').stdout, /^\d+\.\d+\.\d+\n$/)
})

test('an unknown command fails and refers to the help', () => {
  const { stderr, status } = computer('fly')
  assert.equal(status, 2)
  assert.match(stderr, /unknown command 'fly'[^]*computer --help/)
})

test('a server command passes on the output and exit code of its program', () => {
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
