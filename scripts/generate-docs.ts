import {
  ApiKeyScope,
  Permission,
  Role,
  rolePermissions,
  scopePermissions,
} from '@computer/contract'
import { readFile, writeFile } from 'node:fs/promises'
import { environment } from '../server/src/environment.ts'

/*
 * Writes the tables of the guides that repeat data of the code, each between the line
 * `<!-- generated: NAME -->` and the line `<!-- end -->`. With --check it exits with 1 if they are not
 * current.
 */
type Row = readonly string[]

const tables: Readonly<Record<string, Readonly<Record<string, () => readonly Row[]>>>> = {
  'self-hosting.md': { environment: environmentTable },
  'accounts.md': { permissions: permissionTable, scopes: scopeTable },
}

let isCurrent = true
for (const [name, sections] of Object.entries(tables)) {
  const url = new URL(`../docs/${name}`, import.meta.url)
  const old = await readFile(url, 'utf8')
  let text = old
  for (const [section, rows] of Object.entries(sections)) {
    text = replaceSection(text, section, markdownTable(rows()))
  }
  if (text === old) continue
  isCurrent = false
  if (!process.argv.includes('--check')) await writeFile(url, text)
}
if (process.argv.includes('--check') && !isCurrent) {
  console.log('docs are not current: run node scripts/generate-docs.ts')
  process.exitCode = 1
}

function environmentTable(): readonly Row[] {
  const rows = Object.entries(environment.shape).map(([name, schema]) => {
    const { description, unset } = schema.meta() ?? {}
    if (!description) throw new Error(`${name} has no description`)
    const initial = schema.safeParse(undefined).data
    if ((initial === undefined) !== (typeof unset === 'string')) {
      throw new Error(`${name} must have either a default or \`unset\``)
    }
    return [code(name), initial === undefined ? String(unset) : code(String(initial)), description]
  })
  return [['Variable', 'Default', 'Meaning'], ...rows]
}

function permissionTable(): readonly Row[] {
  const rows = Permission.options.map((permission) => [
    code(permission),
    ...Role.options.map((role) => (rolePermissions[role].includes(permission) ? 'yes' : 'no')),
  ])
  return [['Permission', ...Role.options], ...rows]
}

function scopeTable(): readonly Row[] {
  const rows = ApiKeyScope.options.map((scope) => {
    const permissions = scopePermissions[scope].map(code)
    return [code(scope), permissions.join(', ') || 'reading']
  })
  return [['Scope', 'Grants'], ...rows]
}

function code(text: string): string {
  return `\`${text}\``
}

function markdownTable([head, ...rows]: readonly Row[]): string {
  const line = (cells: Row) => `| ${cells.join(' | ')} |`
  return [line(head!), line(head!.map(() => '---')), ...rows.map(line)].join('\n')
}

function replaceSection(text: string, name: string, content: string): string {
  const start = `<!-- generated: ${name} -->\n`
  const from = text.indexOf(start)
  const to = text.indexOf('<!-- end -->', from)
  if (from < 0 || to < 0) throw new Error(`the markers of ${name} are missing`)
  return `${text.slice(0, from + start.length)}\n${content}\n\n${text.slice(to)}`
}
