import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { bashScript } from '../src/commands/completion/bash.ts'
import { fishScript } from '../src/commands/completion/fish.ts'
import { readTree, type Node } from '../src/commands/completion/tree.ts'
import { zshScript } from '../src/commands/completion/zsh.ts'
import { createProgram } from '../src/program.ts'

const nodes = readTree(createProgram())

test('bash completes commands, options and the values of options', () => {
  const complete = (...words: string[]) => {
    const script = `${bashScript(nodes)}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _computer; printf '%s\\n' "\${COMPREPLY[@]}"`
    const args = ['--norc', '-c', script, 'bash', 'computer', ...words]
    return execFileSync('bash', args, { encoding: 'utf8' }).trim().split('\n')
  }
  assert.deepEqual(complete('mach'), ['machines'])
  assert.deepEqual(complete('machines', 're'), ['restart', 'rename', 'resize', 'restore'])
  assert.deepEqual(complete('m', 'create', 'first', '--s'), ['--size'])
  assert.deepEqual(complete('machines', 'ls', '--state', 'st'), ['stopping', 'stopped', 'starting'])
  assert.deepEqual(complete('completion', '--'), ['--help'])
})

test('every script parses in its shell', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'computer-completion-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const tangled: Node = {
    path: '',
    commands: [{ names: ['odd'], description: `it's "$HOME" \\ \`x\`` }],
    options: [],
  }
  for (const [shell, script] of [
    ['bash', bashScript([...nodes, { ...tangled, path: 'odd' }])],
    ['zsh', zshScript([...nodes, { ...tangled, path: 'odd' }])],
    ['fish', fishScript([...nodes, { ...tangled, path: 'odd' }])],
  ] as const) {
    // fish reads no socket, which is what Node gives a child as its input.
    const file = join(folder, shell)
    writeFileSync(file, script)
    const { error, status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
    // Not every host has every shell.
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') continue
    assert.equal(status, 0, stderr)
  }
})

test('every script contains every command', () => {
  const scripts = [bashScript(nodes), zshScript(nodes), fishScript(nodes)]
  assert.ok(nodes.length > 40)
  for (const { path } of nodes)
    for (const script of scripts)
      assert.ok(script.includes(`'${path}'`) || script.includes(`"${path}"`), path)
})
