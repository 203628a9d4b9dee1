import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

const repoDir = join(import.meta.dirname, '..')
const decisions = await readdir(join(repoDir, 'docs/decisions'))
const guides = (await readdir(join(repoDir, 'docs'))).filter((name) => name.endsWith('.md'))
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...guides.map((name) => `docs/${name}`),
  ...decisions.map((name) => `docs/decisions/${name}`),
]

test('every link between pages leads to a file and a heading', async () => {
  for (const page of pages) {
    for (const [, link] of (await read(page)).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link!)) continue
      const [path, anchor] = link!.split('#')
      const target = path ? join(dirname(page), path) : page
      assert.ok(existsSync(join(repoDir, target)), `${page}: ${link}`)
      if (anchor) assert.ok(headings(await read(target)).includes(anchor), `${page}: ${link}`)
    }
  }
})

test('every path in the source that pages name exists', async () => {
  const folders = 'contract|server|guest-agent|image|sdk|cli|mcp|bench|e2e|scripts|docs'
  const paths = new RegExp(`\`((?:${folders})/[a-zA-Z0-9/._-]*)\``, 'g')
  for (const page of pages) {
    for (const [, path] of (await read(page)).matchAll(paths)) {
      if (path!.includes('RESOURCE')) continue
      assert.ok(existsSync(join(repoDir, path!)), `${page}: ${path}`)
    }
  }
})

test('the decision records are numbered without a gap, and their titles name the number', async () => {
  for (const [index, name] of decisions.toSorted().entries()) {
    assert.equal(Number(name.slice(0, 4)), index + 1, name)
    assert.match(await read(`docs/decisions/${name}`), new RegExp(`^# ${index + 1}\\. `), name)
  }
})

function read(page: string): Promise<string> {
  return readFile(join(repoDir, page), 'utf8')
}

/** The anchors of the headings of a page, as GitHub derives them. */
function headings(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}
