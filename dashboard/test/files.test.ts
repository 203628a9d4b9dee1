import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { machineFiles, openFiles } from './files-page.ts'
import { closeBrowser, startDashboard } from './harness.ts'
import { keepPermissions } from './permissions.ts'
import { createMachine } from './terminal-page.ts'

const dashboard = await startDashboard({ after })
after(closeBrowser)
const { id, name: machineName } = await createMachine(dashboard)

async function folder(path: string) {
  const { body } = await dashboard.owner.call('POST', `/v1/machines/${id}/exec`, {
    command: ['mkdir', '-p', path],
  })
  assert.equal(body.exit_code, 0)
  return machineFiles(dashboard, id, path)
}

test('folders are opened by mouse and keyboard, and the path is in the address', async (t) => {
  const files = await folder('/home/agent/browse')
  await files.run('mkdir -p b/inner a; echo one > file10; echo two > file9; echo hidden > .rc')
  const { page, rows } = await openFiles(t, dashboard, files)
  await rows.first().waitFor()
  assert.deepEqual(await rows.allInnerTexts(), ['a', 'b', 'file9', 'file10', '.rc'])
  const focused = () => page.evaluate(() => document.activeElement?.textContent)

  await page.keyboard.press('j')
  assert.equal(await focused(), 'a')
  await page.keyboard.press('ArrowDown')
  assert.equal(await focused(), 'b')
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => url.searchParams.get('path') === '/home/agent/browse/b')
  await page.locator('[data-row]:focus', { hasText: 'inner' }).waitFor()
  await page.keyboard.press('Backspace')
  await page.waitForURL((url) => url.searchParams.get('path') === '/home/agent/browse')
  await page.locator('[data-row]:focus', { hasText: 'b' }).waitFor()
  await page.keyboard.press('k')
  assert.equal(await focused(), 'a')

  await page.getByRole('button', { name: 'New folder' }).click()
  const field = page.getByLabel('Name', { exact: true })
  await field.fill('x')
  await field.press('j')
  await field.press('Backspace')
  assert.equal(await field.inputValue(), 'x')
  await page.keyboard.press('Escape')
  assert.equal(new URL(page.url()).searchParams.get('path'), '/home/agent/browse')

  const way = page.getByRole('navigation', { name: 'Folder' })
  await way.getByRole('link', { name: 'home', exact: true }).click()
  await page.waitForURL((url) => url.searchParams.get('path') === '/home')
  await page.locator('[data-row]:focus', { hasText: 'agent' }).waitFor()
  await page.goBack()
  await page.getByText('file10').waitFor()
  await way.getByRole('link', { name: 'Home folder' }).click()
  await page.getByText('Downloads').waitFor()
})

test('of a folder with 3,000 files only the rows that can be seen are in the page', async (t) => {
  const files = await folder('/home/agent/many')
  await files.run('seq -f "file-%04g" 1 3000 | xargs touch')
  const { page, rows } = await openFiles(t, dashboard, files)
  await rows.first().waitFor()
  const table = page.getByRole('table', { name: 'Files' })
  const isWhole = async () => (await table.getAttribute('aria-rowcount')) === '3001'
  while (!(await isWhole())) {
    const before = await page.evaluate(() => document.getElementById('content')!.scrollHeight)
    await page.evaluate(() => {
      const content = document.getElementById('content')!
      content.scrollTop = content.scrollHeight
    })
    await page.waitForFunction(
      (height) =>
        document.getElementById('content')!.scrollHeight > height ||
        document.querySelector('table')!.getAttribute('aria-rowcount') === '3001',
      before,
    )
  }
  await page.evaluate(() => {
    const content = document.getElementById('content')!
    content.scrollTop = content.scrollHeight
  })
  await page.getByText('file-3000').waitFor()
  assert.ok((await rows.count()) < 100)
})

test('text and pictures are shown, and nothing of them runs', async (t) => {
  const files = await folder('/home/agent/preview')
  const script =
    '<svg xmlns="http://www.w3.org/2000/svg"><script>document.title="run"</script></svg>'
  await files.put('page.svg', script)
  await files.put('long.txt', 'the beginning\n'.repeat(40_000))
  await files.put('data', Buffer.from([0xff, 0, 0xfe, 1]))
  await files.put('picture', picture)
  await files.run('ln -s /nowhere dangling; ln -s . itself; mkfifo pipe')
  const { page, row, rows } = await openFiles(t, dashboard, files)
  const dialog = page.getByRole('dialog')
  const close = async () => {
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
  }
  await row('page.svg').click()
  const text = dialog.getByRole('region', { name: 'Text of the file' })
  await text.waitFor()
  assert.equal(await text.textContent(), script)
  await close()
  await row('long.txt').click()
  await dialog.getByText('This is the beginning of the file.').waitFor()
  assert.equal((await text.textContent())?.length, 256 * 1024)
  await close()
  await row('data').click()
  await dialog.getByText('This file is neither text nor a picture.').waitFor()
  await close()
  await row('picture').click()
  const image = dialog.getByRole('img', { name: 'picture' })
  await image.waitFor()
  await page.waitForFunction(
    () => document.querySelector<HTMLImageElement>('[role=dialog] img')!.naturalWidth === 10,
  )
  assert.match((await image.getAttribute('src'))!, /^blob:/)
  await close()
  await row('dangling').click()
  const content = `/v1/machines/${id}/files/content?path=${files.path}/dangling`
  const { body } = await dashboard.owner.call('GET', content)
  await dialog.getByRole('alert').getByText(body.error.message).waitFor()
  await dialog.getByRole('button', { name: 'Copy the request id' }).waitFor()
  await close()
  await row('pipe').click()
  await dialog.getByRole('alert').waitFor()
  await close()
  await row('itself').click()
  await page.waitForURL((url) => url.searchParams.get('path')!.endsWith('/itself'))
  await rows.first().waitFor()
  assert.equal(await page.title(), `${machineName} · Computer`)
})

test('a folder is made; entries are renamed, moved, and deleted when confirmed', async (t) => {
  const files = await folder('/home/agent/change')
  await files.put('draft.txt', 'mine')
  await files.put('taken.txt', 'other')
  const { page, row, act } = await openFiles(t, dashboard, files)
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'New folder' }).click()
  await dialog.getByLabel('Name', { exact: true }).fill('taken.txt')
  await dialog.getByText('There is an entry of this name already.').first().waitFor()
  await dialog.getByLabel('Name', { exact: true }).fill('archive')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await row('archive').waitFor()
  assert.equal(await files.run('stat -c %F:%U archive; ls -A archive'), 'directory:agent\n')

  await act('draft.txt', 'Rename')
  const name = dialog.getByLabel('New name')
  await name.fill('a/b')
  await dialog.getByText('A name holds no slash.').first().waitFor()
  await name.fill('taken.txt')
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await dialog
    .getByRole('alert')
    .getByText(/exists/)
    .waitFor()
  await name.fill('final.txt')
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await row('final.txt').waitFor()
  await page.locator('[data-row]:focus', { hasText: 'final.txt' }).waitFor()

  await act('final.txt', 'Rename')
  await name.fill('taken.txt')
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await dialog.getByRole('checkbox', { name: 'Replace what is there' }).click()
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await row('final.txt').waitFor({ state: 'hidden' })
  assert.equal(await files.run('cat taken.txt'), 'mine')

  await act('taken.txt', 'Move')
  await dialog.getByLabel('Into the folder').fill(`${files.path}/archive`)
  await dialog.getByRole('button', { name: 'Move' }).click()
  await row('taken.txt').waitFor({ state: 'hidden' })
  assert.equal(await files.run('cat archive/taken.txt'), 'mine')

  await act('archive', 'Delete')
  await dialog.getByText('and everything in it').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  assert.equal(await files.run('ls'), 'archive\n')
  await act('archive', 'Delete')
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'This folder is empty' }).waitFor()
  assert.equal(await files.run('ls'), '')
})

test('a download has the bytes and the name of the file', async (t) => {
  const files = await folder('/home/agent/download')
  const bytes = Buffer.from([0, 255, 1, 254])
  await files.put('Grüße.bin', bytes)
  const { page, act } = await openFiles(t, dashboard, files)
  const saving = page.waitForEvent('download')
  await act('Grüße.bin', 'Download')
  const saved = await saving
  assert.equal(saved.suggestedFilename(), 'Grüße.bin')
  assert.deepEqual(await readFile(await saved.path()), bytes)
})

test('names of the machine are text, in which nothing is hidden', async (t) => {
  const files = await folder('/home/agent/names')
  const markup = '<img src=x onerror="document.title=1">'
  await files.put(markup, 'x')
  await files.put('invoice\u202egpj.exe', 'x')
  await files.put('two\nlines', 'x')
  await files.put('\u{e0041}tag', 'x')
  await files.run('printf x > "$(printf "bad\\377name")"; mkdir -- "-rf $(printf "\\001")"')
  const { page, row, rows, act } = await openFiles(t, dashboard, files)
  await rows.first().waitFor()
  const shown = await rows.allInnerTexts()
  assert.deepEqual(
    shown.toSorted(),
    [
      '-rf [U+0001]',
      markup,
      '[U+E0041]tag',
      'bad\ufffdname',
      'invoice[U+202E]gpj.exe',
      'two[U+000A]lines',
    ].toSorted(),
  )
  assert.equal(await page.locator('main img').count(), 0)
  await act('invoice[U+202E]gpj.exe', 'Delete')
  await page.getByRole('dialog').getByText('invoice[U+202E]gpj.exe').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await row('invoice[U+202E]gpj.exe').waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Actions of bad\ufffdname' }).click()
  const remove = page.getByRole('menuitem', { name: 'Delete' })
  assert.equal(await remove.getAttribute('aria-disabled'), 'true')
  assert.match((await remove.textContent())!, /not UTF-8/)
  await page.keyboard.press('Escape')
  await page.getByText('-rf [U+0001]').click()
  await page.getByRole('heading', { name: 'This folder is empty' }).waitFor()
  assert.equal(await page.title(), `${machineName} · Computer`)
})

test('a refused path, a missing permission and a stopped machine each say why', async (t) => {
  const refused = await openFiles(t, dashboard, { id, path: '/run/computer' })
  await refused.page.getByRole('alert').getByText('/run/computer').waitFor()
  await refused.page.getByRole('button', { name: 'Copy the request id' }).waitFor()

  const files = await folder('/home/agent/seen')
  await files.put('seen.txt', 'x')
  const { page, row } = await openFiles(t, dashboard, { id, path: '/home' })
  await keepPermissions(page, (one) => one !== 'machines:control')
  await page.goto(`${dashboard.url}/m/${id}/files?path=${files.path}`)
  await row('seen.txt').waitFor()
  const make = page.getByRole('button', { name: 'New folder' })
  assert.equal(await make.getAttribute('aria-disabled'), 'true')
  const reason = await make.evaluate(
    (button) => document.getElementById(button.getAttribute('aria-describedby')!)!.textContent,
  )
  assert.match(reason!, /You may not start, stop, drive or change machines/)

  const stopped = await dashboard.owner.call('POST', '/v1/machines', {
    name: 'rests',
    start: false,
  })
  const other = await openFiles(t, dashboard, { id: stopped.body.id, path: '/home' })
  await other.page.getByText('rests is stopped. Start it first.').waitFor()
  await other.page.locator('main').getByRole('button', { name: 'Start' }).last().click()
  await other.row('agent').waitFor()
})

const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mP8z8BQz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC',
  'base64',
)
