import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../server/test/settled.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { createMachine, listTerminals, openTerminals, terminalPage } from './terminal-page.ts'

const dashboard = await startDashboard({ after })
after(closeBrowser)

test('a page without terminals says how to begin; a command runs, ends with its code, and Enter opens another', async (t) => {
  const { id } = await createMachine(dashboard, 'first')
  const terminals = await openTerminals(t, dashboard, id)
  const { page } = terminals
  await page.getByText('computer shell first').waitFor()
  const first = await terminals.open()
  await terminals.run('echo $((6 * 7))-lines; stty size')
  const text = await terminals.shows(/42-lines\s*\d+ \d+\s*bash/)
  const [, rows, cols] = /(\d+) (\d+)\s*bash/.exec(text) ?? []
  assert.ok(
    Number(rows) > 24 && Number(cols) > 80,
    `it has the size of its place: ${rows} × ${cols}`,
  )

  await terminals.run('exit 3')
  await page.getByText('The command has ended with exit code 3.').waitFor()
  assert.match((await terminals.rows.textContent()) ?? '', /42-lines/)
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => ![null, first].includes(url.searchParams.get('terminal')))
  await terminals.shows(/\$/)
  await eventually(async () => (await terminals.tabs.count()) === 1 || undefined)
  assert.equal((await listTerminals(dashboard, id)).length, 1)
})

test('five terminals survive a restart of the gateway with their history, and closing one touches none of the others', async (t) => {
  // A gateway of its own, which ends with this test.
  const dashboard = await startDashboard(t)
  const { id } = await createMachine(dashboard, 'five')
  const errors = /WebSocket connection to/
  const terminals = await openTerminals(t, dashboard, id, { expectedErrors: errors })
  const { page, tabs } = terminals
  const opened: string[] = []
  for (let number = 1; number <= 5; number++) {
    opened.push(await terminals.open())
    await terminals.run(`value=${number}; echo history-of-$((number * 0))$value`)
    await terminals.shows(`history-of-0${number}`)
  }
  assert.equal(await tabs.count(), 5)

  await dashboard.stopGateway()
  await terminals.says('The connection is lost.')
  await page.keyboard.insertText('echo typed-$value-meanwhile\r')
  await dashboard.startGateway()
  const last = await terminals.shows('typed-5-meanwhile')
  assert.equal(last.split('history-of-05').length, 2, 'the history is shown once')
  for (const index of [0, 1, 2, 3]) {
    await tabs.nth(index).click()
    await terminals.shows(`history-of-0${index + 1}`)
    await terminals.run('echo still-$value')
    await terminals.shows(`still-${index + 1}`)
  }

  await page
    .getByRole('button', { name: /^Close/ })
    .nth(1)
    .click()
  await page.getByRole('dialog').getByRole('button', { name: 'Close it' }).click()
  await eventually(async () => (await listTerminals(dashboard, id)).length === 4 || undefined)
  const left = opened.filter((_, index) => index !== 1)
  const ids = (await listTerminals(dashboard, id)).map((one) => one.id)
  assert.deepEqual(ids.toSorted(), left.toSorted())
  for (const [index, number] of [1, 3, 4, 5].entries()) {
    await tabs.nth(index).click()
    await terminals.run('echo open-$value')
    await terminals.shows(`open-${number}`)
  }
})

test('a reload attaches to the terminal of its address again, and answers no question of its history', async (t) => {
  const { id } = await createMachine(dashboard, 'again')
  const terminals = await openTerminals(t, dashboard, id)
  const { page } = terminals
  const terminal = await terminals.open()
  await terminals.run(`printf '\\033[c'; read -rs -t 9 -d c answer; echo answer-of-\${#answer}`)
  await terminals.shows(/answer-of-[1-9]/)
  await page.reload()
  await terminals.shows(/answer-of-[1-9]/)
  await terminals.run('echo after-reload')
  const text = await terminals.shows(/after-reload.*after-reload/s)
  assert.match(text, /\$ echo after-reload/, 'nothing else was typed')
  assert.equal(new URL(page.url()).searchParams.get('terminal'), terminal)
})

test('without a name in the address the newest free terminal is shown', async (t) => {
  const { id } = await createMachine(dashboard, 'free')
  const { body } = await dashboard.owner.call('POST', `/v1/machines/${id}/terminals`, {})
  const { page } = await openTerminals(t, dashboard, id)
  await page.waitForURL((url) => url.searchParams.get('terminal') === body.id)
  await page.locator('[data-status=open]').waitFor()
})

test('a terminal that the list names before the call that opens it is answered is shown once', async (t) => {
  const { id } = await createMachine(dashboard)
  const { page, screen, shows, run } = await openTerminals(t, dashboard, id)
  const listed = Promise.withResolvers<void>()
  await page.route('**/terminals', async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    const response = await route.fetch()
    await listed.promise
    await route.fulfill({ response })
  })
  await page.getByRole('button', { name: 'New terminal', exact: true }).first().click()
  // The page lists the terminals of other programs from time to time, and shows one of them.
  await page.waitForURL((url) => url.searchParams.has('terminal'))
  const answered = page.waitForResponse((one) => one.request().method() === 'POST')
  listed.resolve()
  await answered
  await run('echo once-$((40 + 2))')
  await shows('once-42')
  assert.equal(await screen.count(), 1)
})

test('a terminal that another window shows says so, and a new one is opened beside it', async (t) => {
  const { id } = await createMachine(dashboard, 'shared')
  const first = await openTerminals(t, dashboard, id)
  await first.open()
  const second = terminalPage(
    await openPage(
      t,
      dashboard,
      new URL(first.page.url()).pathname + new URL(first.page.url()).search,
    ),
  )
  await second.page.getByText('This terminal is open in another window.').waitFor()
  await second.page
    .locator('p[role=status]', { hasText: 'another window' })
    .locator('..')
    .getByRole('button', { name: 'New terminal' })
    .click()
  await second.shows(/\$/)
  await first.run('echo first-goes-on')
  await first.shows(/first-goes-on.*first-goes-on/s)
})

test('the end of a credential and of the machine are told in sentences', async (t) => {
  const { id } = await createMachine(dashboard, 'ends')
  const grace = await dashboard.server.signUp({ email: 'grace@example.com', name: 'Grace Hopper' })
  const own = await grace.call('POST', '/v1/machines', { name: 'of-grace' })
  const other = await openTerminals(t, dashboard, own.body.id, { as: grace })
  await other.open()
  await grace.call('POST', '/v1/auth/logout')
  await other.page.getByText('Your sign-in has ended. The terminal keeps running.').waitFor()

  const terminals = await openTerminals(t, dashboard, id)
  await terminals.open()
  await terminals.run('echo last-words')
  await terminals.shows(/last-words.*last-words/s)
  await dashboard.owner.call('POST', `/v1/machines/${id}/stop`)
  await terminals.page.getByText('because ends has stopped.').waitFor()
  await terminals.shows(/last-words/)
  const another = terminals.page.getByRole('button', { name: 'New terminal', exact: true }).first()
  assert.equal(await another.getAttribute('aria-disabled'), 'true')
})

test('a terminal as root is chosen from the menu', async (t) => {
  const { id } = await createMachine(dashboard, 'rooted')
  const terminals = await openTerminals(t, dashboard, id)
  await terminals.page.getByRole('button', { name: 'New terminal as another user' }).first().click()
  await terminals.page.getByRole('menuitem', { name: 'As root' }).click()
  await terminals.shows(/#/)
  await terminals.run('id -un')
  await terminals.shows(/id -un\s*root/)
  assert.equal((await listTerminals(dashboard, id))[0]!.user, 'root')
})

test('closing the shown terminal shows its neighbour, and the address of a closed one says that it has ended', async (t) => {
  const { id } = await createMachine(dashboard, 'closes')
  const errors = /WebSocket handshake: Unexpected response code: 404/
  const terminals = await openTerminals(t, dashboard, id, { expectedErrors: errors })
  const { page, tabs } = terminals
  const first = await terminals.open()
  const second = await terminals.open()
  await page
    .getByRole('button', { name: /^Close/ })
    .nth(1)
    .click()
  await page.getByRole('dialog').getByRole('button', { name: 'Close it' }).click()
  await page.waitForURL((url) => url.searchParams.get('terminal') === first)
  await eventually(async () => (await tabs.count()) === 1 || undefined)
  await terminals.run('echo still-$((1 + 1))')
  await terminals.shows('still-2')
  await page.goto(`${dashboard.url}/m/${id}/terminal?terminal=${second}`)
  await terminals.says('This terminal has ended.')
})

for (const theme of ['light', 'dark'] as const) {
  test(`in the ${theme} theme the colours are those of the page and of the program, and no style is inline`, async (t) => {
    const { id } = await createMachine(dashboard, `colours-${theme}`)
    const terminals = await openTerminals(t, dashboard, id, { theme })
    const { page } = terminals
    // A violation would be an error in the console, which fails the test.
    const { headers } = await fetch(`${dashboard.url}/m/${id}/terminal`, {
      headers: { accept: 'text/html' },
    })
    assert.match(headers.get('content-security-policy')!, /style-src 'self'(;|$)/)
    await terminals.open()
    await terminals.run(
      `printf '\\033[31mred-%s\\033[0m \\033[38;2;90;120;200;48;2;0;0;0mown-%s\\033[0m' 1 2`,
    )
    await terminals.shows('own-2')
    const colorOf = (text: string, property: 'color' | 'backgroundColor') =>
      page
        .locator('.xterm-rows:visible span', { hasText: text })
        .last()
        .evaluate((cell, name) => getComputedStyle(cell)[name], property)
    const token = (name: string) =>
      page.evaluate((variable) => {
        const probe = document.createElement('i')
        probe.style.color = `var(${variable})`
        document.body.append(probe)
        const { color } = getComputedStyle(probe)
        probe.remove()
        return color
      }, name)
    const rows = page.locator('.xterm-rows:visible')
    assert.equal(await rows.evaluate((one) => getComputedStyle(one).color), await token('--fg'))
    const viewport = page.locator('.xterm-scrollable-element:visible').first()
    assert.equal(
      await viewport.evaluate((one) => getComputedStyle(one).backgroundColor),
      await token('--raised'),
    )
    const red = { light: 'rgb(179, 25, 31)', dark: 'rgb(255, 143, 140)' }
    assert.equal(await colorOf('red-1', 'color'), red[theme])
    assert.equal(await colorOf('own-2', 'backgroundColor'), 'rgb(0, 0, 0)')
  })
}

test('a title and a link that a program names are text, and the link is shown before it is opened', async (t) => {
  const { id } = await createMachine(dashboard, 'hostile')
  const terminals = await openTerminals(t, dashboard, id)
  const { page, tabs } = terminals
  await terminals.open()
  await terminals.run(`PS1='> '; printf '\\033]0;<img src=x>\\342\\200\\256%0200d\\007' 7`)
  await tabs.filter({ hasText: '<img src=x>0000' }).waitFor()
  const title = (await tabs.first().textContent())!
  assert.ok(title.length <= 60 && !title.includes('\u202e'), title)
  assert.equal(await page.locator('main img').count(), 0)

  await terminals.run(
    `clear; printf '\\033]8;;https://evil.example/x?\\007https://good.example-%s\\033]8;;\\007\\n' 1`,
  )
  await terminals.shows('https://good.example-1')
  const link = terminals.rows.locator('span', { hasText: 'https://good.example-1' }).last()
  const { x, y } = (await link.boundingBox())!
  const dialog = page.getByRole('dialog', { name: 'Open this address?' })
  // The emulator looks for links after the pointer has moved.
  await eventually(async () => {
    await page.mouse.move(x + 60, y + 5)
    await page.mouse.click(x + 50, y + 5)
    return (await dialog.isVisible()) || undefined
  })
  await dialog.getByText('https://evil.example/x').waitFor()
  await dialog.getByText('It leads to evil.example.').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
})

test('a paste arrives whole, and cannot end the brackets that mark it as pasted', async (t) => {
  const { id } = await createMachine(dashboard, 'pasted')
  const terminals = await openTerminals(t, dashboard, id)
  await terminals.open()
  // The shell asks for brackets around pastes until it runs a command.
  await terminals.run('echo ready-$((1 + 1)); cat > pasted.txt; echo saved-$((1 + 1))')
  await terminals.shows('ready-2')
  const text = 'Grüße 漢字 🙂\n'.repeat(800)
  await terminals.paste(text)
  await terminals.page.keyboard.press('Control+d')
  await terminals.shows('saved-2')
  const path = `/v1/machines/${id}/files/content?path=pasted.txt`
  assert.equal((await dashboard.owner.call('GET', path)).body.content, text)
  await terminals.paste('echo one\x1b[201~\recho two')
  await terminals.shows(/\$ echo one\[201~/)
})
