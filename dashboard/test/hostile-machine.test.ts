import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { machineFiles, openFiles } from './files-page.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { assertHarmless, countShown, watchCanary } from './hostile-answers.ts'
import { hostileTexts } from './hostile-texts.ts'
import { createMachine as createDesk, takeOver } from './screen-pages.ts'
import { createMachine, openTerminals } from './terminal-page.ts'

/* The hostile texts, sent by programs in a machine: names and contents of files, terminals and the clipboard. */

after(closeBrowser)
const dashboard = await startDashboard({ after })
const wellFormed = hostileTexts.filter((text) => text.isWellFormed())

test('names and contents of files are only texts', async (t) => {
  const { id } = await createMachine(dashboard, 'files')
  const files = machineFiles(dashboard, id, '/home/agent')
  const names = new Set(
    wellFormed
      .map((text) => text.replaceAll('/', '\u2215').replaceAll('\0', '').slice(0, 60))
      .filter((name) => !['', '.', '..'].includes(name) && Buffer.byteLength(name) <= 255),
  )
  await files.put('names.json', JSON.stringify([...names]))
  // A file with NUL is no text.
  await files.put('corpus.txt', wellFormed.join('\n').replaceAll('\0', ''))
  const create =
    'import json, os; os.mkdir("named"); [open("named/" + n, "w") for n in json.load(open("names.json"))]'
  await files.run(`python3 -c '${create}'`)
  const named = { id, path: '/home/agent/named' }
  const { page, rows, row } = await openFiles(t, dashboard, named)
  await watchCanary(page)
  await page.reload()
  await rows.first().waitFor()
  const seen = new Set<string>()
  for (let isEnd = false; !isEnd;) {
    for (const name of await rows.allTextContents()) seen.add(name)
    isEnd = await page.locator('#content').evaluate(scrollOn)
  }
  assert.ok(seen.size > 190, `${seen.size} names were shown`)
  await assertHarmless(page, 'names of files')

  await page.goto(`${dashboard.url}/m/${id}/files?path=/home/agent`)
  await row('corpus.txt').click()
  await page.getByRole('region', { name: 'Text of the file' }).waitFor()
  assert.ok((await countShown(page)) > 190)
  await assertHarmless(page, 'the content of a file')
})

test('output and titles of a terminal are only texts', async (t) => {
  const { id } = await createMachine(dashboard, 'terminal')
  const files = machineFiles(dashboard, id, '/home/agent')
  const bytes = wellFormed.map((text) => `\x1b]0;${text}\x07\x1b]2;${text}\x1b\\${text}\x18\r\n`)
  await files.put('corpus', bytes.join(''))
  const terminals = await openTerminals(t, dashboard, id)
  await watchCanary(terminals.page)
  await terminals.page.reload()
  await terminals.open()
  // Slowly, so that the page shows each title for a while.
  const slow = `while IFS= read -r line; do printf '%s\\n' "$line"; sleep 0.01; done < corpus`
  await terminals.run(`${slow}; reset -Q; printf '\\033]0;at the %s\\007' end`)
  await terminals.tabs.filter({ hasText: 'at the end' }).waitFor()
  await assertHarmless(terminals.page, 'a terminal')
})

test('text that is copied in a machine is only text', async (t) => {
  const machine = await createDesk(dashboard)
  const page = await openPage(t, dashboard, '/favicon.svg')
  await watchCanary(page)
  await page.addInitScript(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))
  })
  await page.goto(dashboard.url + machine.path)
  await takeOver(page)
  const notice = page.getByRole('status').filter({ hasText: 'Copied in the machine' })
  for (const [index, text] of wellFormed.entries()) {
    machine.screens.update({ type: 'clipboard', text: `${index}:${text}` })
    await notice.filter({ hasText: `machine: ${index}:` }).waitFor()
  }
  await assertHarmless(page, 'the clipboard')
})

/** Scrolls by less than is seen and waits for the rows. Returns whether the end was reached before. */
async function scrollOn(content: Element): Promise<boolean> {
  const before = content.scrollTop
  content.scrollBy(0, 300)
  for (const _ of [1, 2]) await new Promise((resolve) => requestAnimationFrame(resolve))
  return content.scrollTop === before
}
