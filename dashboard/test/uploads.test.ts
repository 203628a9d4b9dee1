import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { holdUploads, isUpload, machineFiles, openFiles, sizeOfPiece } from './files-page.ts'
import { closeBrowser, startDashboard } from './harness.ts'
import { createMachine } from './terminal-page.ts'

const mebibyte = 1024 * 1024
const dashboard = await startDashboard({ after })
after(closeBrowser)
const { id } = await createMachine(dashboard)
const here = await mkdtemp(join(tmpdir(), 'computer-uploads-'))
after(() => rm(here, { recursive: true }))

async function folder(path: string) {
  await dashboard.owner.call('POST', `/v1/machines/${id}/exec`, { command: ['mkdir', '-p', path] })
  return machineFiles(dashboard, id, path)
}

async function localFile(name: string, content: string | Buffer): Promise<string> {
  const path = join(here, name)
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(path, content)
  return path
}

test('files that are dropped anywhere are uploaded into the open folder', async (t) => {
  const files = await folder('/home/agent/drop')
  const { page, row, uploaded } = await openFiles(t, dashboard, files)
  await page.getByRole('heading', { name: 'This folder is empty' }).waitFor()
  const drag = (type: 'dragover' | 'drop') =>
    page.evaluate((kind) => {
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File(['dropped'], 'one.txt'))
      dataTransfer.items.add(new File(['<b>'], '<img src=x>.html'))
      const init = { dataTransfer, bubbles: true, cancelable: true }
      return !document.querySelector('nav')!.dispatchEvent(new DragEvent(kind, init))
    }, type)
  assert.equal(await drag('dragover'), true)
  await page.getByText('Drop to upload into /home/agent/drop').waitFor()
  assert.equal(await drag('drop'), true)
  await page.getByText('Drop to upload into').waitFor({ state: 'hidden' })
  await uploaded(2)
  await row('<img src=x>.html').waitFor()
  assert.equal(await files.run('cat one.txt'), 'dropped')
})

test('a dropped folder keeps its tree', async (t) => {
  const files = await folder('/home/agent/tree')
  await localFile('site/index.html', 'root')
  await localFile('site/deep/er/page.html', 'deep')
  const { page, row, uploaded } = await openFiles(t, dashboard, files)
  await page.getByRole('heading', { name: 'This folder is empty' }).waitFor()
  const session = await page.context().newCDPSession(page)
  const data = { items: [], files: [join(here, 'site')], dragOperationsMask: 1 }
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', { type, x: 600, y: 500, data })
  await uploaded(2)
  await row('site').waitFor()
  assert.equal(await files.run('cat site/index.html site/deep/er/page.html'), 'rootdeep')
})

test('chosen files and folders are uploaded, and nothing is replaced unasked', async (t) => {
  const files = await folder('/home/agent/choose')
  await files.put('same.txt', 'old')
  const same = await localFile('same.txt', 'new')
  await localFile('chosen/inner/a.txt', 'a')
  const { page, row, choose, uploaded } = await openFiles(t, dashboard, files)
  await row('same.txt').waitFor()
  const chooser = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Upload', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Files' }).click()
  await (await chooser).setFiles(same)
  const dialog = page.getByRole('dialog')
  await dialog.getByText('same.txt').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  assert.equal(await files.run('cat same.txt'), 'old')
  await choose(same)
  await dialog.getByRole('button', { name: 'Replace' }).click()
  await uploaded(1)
  assert.equal(await files.run('cat same.txt'), 'new')
  await choose(join(here, 'chosen'), 'folder')
  await row('chosen').waitFor()
  assert.equal(await files.run('cat chosen/inner/a.txt'), 'a')
})

test('three are sent at once; one can be cancelled, and a refused one says why and is tried again', async (t) => {
  const files = await folder('/home/agent/three')
  const paths = await Promise.all(
    [1, 2, 3, 4, 5].map((number) => localFile(`n${number}`, `${number}`)),
  )
  const { page, uploads, choose } = await openFiles(t, dashboard, files)
  await page.getByRole('heading', { name: 'This folder is empty' }).waitFor()
  const holding = await holdUploads(page)
  await choose(paths)
  await holding.count(3)
  await uploads.getByText('Uploading 5 files: 0 done').waitFor()
  assert.equal(await uploads.getByRole('listitem').count(), 3)
  assert.equal(holding.held.length, 3)
  await uploads.getByRole('button', { name: 'Cancel n1' }).click()
  await holding.count(4)
  const [, second] = holding.held
  await second!.fulfill({
    status: 403,
    json: {
      error: { code: 'permission_denied', message: 'the server says no', request_id: 'req_9' },
    },
  })
  await uploads.getByRole('alert').getByText('the server says no (request req_9)').waitFor()
  await holding.count(5)
  // The first is cancelled and the second is answered.
  holding.held.splice(0, 2)
  await holding.end()
  await uploads.getByText('3 files uploaded, 1 failed').first().waitFor()
  assert.equal(await files.run('ls'), 'n3\nn4\nn5\n')
  await uploads.getByRole('button', { name: 'Try n2 again' }).click()
  await uploads.getByText('4 files uploaded').first().waitFor()
  assert.equal(await files.run('cat *'), '2345')
})

test('a large upload shows its progress, and continues after a broken connection and after a reload', async (t) => {
  const files = await folder('/home/agent/large')
  const bytes = randomBytes(40 * mebibyte)
  const large = await localFile('large.bin', bytes)
  const { page, uploads, row, choose, uploaded } = await openFiles(t, dashboard, files, {
    expectedErrors: /net::ERR_/,
  })
  await page.getByRole('heading', { name: 'This folder is empty' }).waitFor()
  const sizes: number[] = []
  const waiting = Promise.withResolvers<void>()
  // One handler for the whole test: a page that loads while interception ends may wait for its request forever.
  await page.route(isUpload, async (route) => {
    const size = sizeOfPiece(route.request())
    if (size > 0) sizes.push(size)
    // The second piece breaks once, and the fourth never arrives.
    if (size > 0 && sizes.length === 2) return route.abort('connectionreset')
    if (size > 0 && sizes.length === 5) return waiting.resolve()
    await route.continue()
  })
  await choose(large)
  await waiting.promise
  const bar = uploads.getByRole('progressbar', { name: 'large.bin' })
  await uploads.getByText('24 MB of 40 MB').first().waitFor()
  assert.equal(await bar.getAttribute('aria-valuenow'), '60')
  assert.equal(await files.run('ls; cat .upload-*.part | wc -c'), `${24 * mebibyte}\n`)

  page.on('dialog', (dialog) => void dialog.accept())
  await page.reload()
  await page.getByRole('button', { name: 'New folder' }).waitFor()
  await choose(large)
  await uploaded(1)
  await row('large.bin').waitFor()
  // Only what is missing is sent again.
  const sent = sizes.slice(5).reduce((sum, size) => sum + size, 0)
  assert.equal(sent, 16 * mebibyte, `${sizes}`)
  const sum = createHash('sha256').update(bytes).digest('hex')
  assert.equal(await files.run('sha256sum large.bin; ls -A'), `${sum}  large.bin\nlarge.bin\n`)
})

test('a part file that does not fit is started again, and a cancelled upload leaves none', async (t) => {
  const files = await folder('/home/agent/mixed')
  const bytes = randomBytes(33 * mebibyte)
  const large = await localFile('mixed.bin', bytes)
  const { page, uploads, choose, uploaded } = await openFiles(t, dashboard, files)
  await page.getByRole('heading', { name: 'This folder is empty' }).waitFor()
  const holding = await holdUploads(page)
  await choose(large)
  // The size is asked for, then the first piece is sent.
  await holding.count(1)
  await holding.pass()
  await holding.count(1)
  await files.run('for part in .upload-*.part; do printf foreign >> "$part"; done')
  await holding.end()
  await uploaded(1)
  const sum = createHash('sha256').update(bytes).digest('hex')
  assert.equal(await files.run('sha256sum mixed.bin; ls -A'), `${sum}  mixed.bin\nmixed.bin\n`)

  const other = await localFile('other.bin', bytes)
  const again = await holdUploads(page)
  await choose(other)
  await again.count(1)
  await again.pass()
  await again.count(1)
  assert.match(await files.run('ls -A'), /\.part/)
  const deleted = page.waitForResponse((response) => response.request().method() === 'DELETE')
  await uploads.getByRole('button', { name: 'Cancel other.bin' }).click()
  await deleted
  assert.equal(await files.run('ls -A'), 'mixed.bin\n')
})
