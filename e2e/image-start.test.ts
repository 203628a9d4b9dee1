import type { Command, ExecOptions, Machine } from '@computer/sdk'
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import sharp from 'sharp'
import { eventually } from './harness/polling.ts'
import { difference } from './harness/pictures.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/*
 * A machine that rests runs little, and the rest starts when it is asked for. The tests share a machine, and the
 * first one needs it untouched.
 */

const allButTheClock = { left: 0, top: 0, width: 1130, height: 800 }
const firstIcon = { left: 0, top: 0, width: 110, height: 110 }
let server: RealServer
let machine: Machine

before(async () => {
  server = await joinServer()
  machine = await server.computer.machines.create({ name: 'quick-start' })
  await eventually('the panel runs', () => succeeds(['pgrep', '-x', 'xfce4-panel']))
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
})

test('a desktop that rests runs no service that nobody used', async () => {
  await restart()
  const programs = (await run(['ps', '-eo', 'comm='])).split('\n')
  const unused = /^(systemd-(udevd|resolve|network|logind)|Thunar|tumblerd|at-spi|gvfsd-)/
  assert.deepEqual(
    programs.filter((name) => unused.test(name)),
    [],
  )
  assert.equal(await run(['systemctl', 'is-system-running', '--wait']), 'running\n')
  assert.equal(await run(['systemctl', '--failed', '--no-legend']), '')
})

test('a start works out nothing anew that is in the image', async () => {
  const fonts = await run('fc-cache --system-only --verbose', { user: 'root' })
  assert.doesNotMatch(fonts, /caching, new cache/)
  assert.equal(await succeeds(['test', '-e', '.cache/fontconfig']), false)
  const written = await run('ls .config/xfce4/xfconf/xfce-perchannel-xml')
  assert.doesNotMatch(written, /xfwm4|shortcuts/)
  for (const program of ['xfce4-panel', 'xfdesktop'])
    assert.match(await run(`cat /proc/$(pgrep -xo ${program})/maps`), /computer\/desktop\.so/)
})

test('the visuals that the display is given are those that GTK finds', async () => {
  const server = 'Xvnc :5 -geometry 640x480 -depth 24 -rfbport -1 -SecurityTypes None -nolisten tcp'
  await machine.processes.start(['sh', '-c', `exec ${server} >/dev/null 2>&1`])
  await eventually('the second display listens', () => succeeds('test -S /tmp/.X11-unix/X5'))
  await machine.processes.start([
    'sh',
    '-c',
    'DISPLAY=:5 exec timeout 20 xfce4-appearance-settings',
  ])
  const read = (display: string) => run(`xprop -display ${display} -root GDK_VISUALS`)
  const found = await eventually('GTK has noted them', async () => {
    const text = await read(':5')
    return text.includes('=') ? text : undefined
  })
  assert.equal(found, await read(':0'))
  await run('pkill -f "Xvnc :5"')
})

test('programs that the panel starts do not load what it loads', async () => {
  await machine.mouse.click(108, 780)
  await eventually('the terminal runs', () => succeeds(['pgrep', '-x', 'xfce4-terminal']))
  // Until its shell runs, two processes bear the terminal's name.
  const environment = await run('tr "\\0" "\\n" </proc/$(pgrep -xo xfce4-terminal)/environ')
  assert.doesNotMatch(environment, /LD_PRELOAD/)
  assert.match(environment, /^XDG_CURRENT_DESKTOP=XFCE$/m)
  await run(['pkill', '-x', 'xfce4-terminal'])
  await eventually('it is gone', () => isGone('xfce4-terminal'))
})

test('the address, the route and the name server come from DHCP', async () => {
  const gateway = /^default via (\S+) dev eth0/.exec(await run('ip route'))?.[1]
  assert.equal(await run('cat /etc/resolv.conf'), `nameserver ${gateway}\n`)
  assert.equal(await run('ip -6 address show dev eth0'), '')
  assert.match(await run(['getent', 'ahostsv4', 'quick-start']), /127\.0\.1\.1/)
  assert.match(await run('ip -4 -o address show eth0'), /inet 10\./)
})

test('a name server of the user stays through a renewal of the address', async () => {
  const own = 'rm /etc/resolv.conf; echo nameserver 192.0.2.1 >/etc/resolv.conf'
  await run(`${own}; systemctl restart computer-network`, { user: 'root' })
  await eventually('the address is there', () => succeeds('ip -4 route | grep -q default'))
  assert.equal(await run('cat /etc/resolv.conf'), 'nameserver 192.0.2.1\n')
  await run('ln -sf /run/resolv.conf /etc/resolv.conf', { user: 'root' })
})

test('resolved starts when it is asked, and uses the same name server', async () => {
  const status = await run(['resolvectl', 'status'])
  const [, server] = /^nameserver (\S+)$/m.exec(await run('cat /run/resolv.conf'))!
  assert.match(status, new RegExp(`DNS Servers?:? ${server}`))
  assert.match(await run(['resolvectl', 'query', 'localhost']), /127\.0\.0\.1/)
})

test('udevd starts when it is asked, and when a device appears', async () => {
  await run(['udevadm', 'control', '--ping'], { user: 'root' })
  assert.equal(await run(['systemctl', 'is-active', 'systemd-udevd']), 'active\n')
  assert.match(await run(['udevadm', 'info', '/sys/class/net/eth0']), /U: net/)

  await run(['systemctl', 'stop', 'systemd-udevd'], { user: 'root' })
  await run('ip link add probe type veth peer name other', { user: 'root' })
  await eventually('udevd runs', () => succeeds(['systemctl', 'is-active', 'systemd-udevd']))
})

test("the user's manager runs, and logind starts with a login", async () => {
  assert.equal(await run(['systemctl', '--user', 'is-system-running']), 'running\n')
  assert.equal(
    await run(['systemd-run', '--user', '--wait', '--pipe', '-q', 'id', '-un']),
    'agent\n',
  )
  assert.match(await run('df --output=target /run/user/1000'), /\/run\/user\/1000/)

  const login = 'echo $XDG_RUNTIME_DIR; loginctl show-session self --property=Name --value'
  assert.equal(await run(`su - agent -c '${login}'`, { user: 'root' }), '/run/user/1000\nagent\n')
  assert.match(await run(['loginctl', 'list-users', '--no-legend']), /^ *1000 agent +yes/)
})

test('the buses start services with the first message', async () => {
  const hostname = ['org.freedesktop.hostname1', '/org/freedesktop/hostname1']
  const property = ['get-property', ...hostname, 'org.freedesktop.hostname1', 'StaticHostname']
  assert.equal(await run(['busctl', ...property]), 's "quick-start"\n')
  const introspect = ['org.freedesktop.Notifications', '/org/freedesktop/Notifications']
  assert.match(await run(['busctl', '--user', 'introspect', ...introspect]), /\.Notify /)
})

test('a file on the desktop can be moved to the trash, by Thunar, which starts for it', async () => {
  assert.equal(await succeeds(['pgrep', '-x', 'Thunar']), false)
  // A tooltip of the panel may go at any moment, and is no icon.
  const before = await takePicture(firstIcon)
  await run('mkdir Desktop/old')
  await eventually(
    'its icon shows',
    async () => (await difference(before, await takePicture(firstIcon))) > 0,
  )
  await machine.mouse.click(50, 50)
  await machine.keyboard.press('delete')
  await eventually('it is in the trash', () => succeeds('test -d .local/share/Trash/files/old'))
  assert.equal(await succeeds(['pgrep', '-x', 'Thunar']), true)
})

test('the menu opens with its key', async () => {
  const before = await takePicture()
  await machine.keyboard.press('super')
  await eventually(
    'the menu shows',
    async () => (await difference(before, await takePicture())) > 5,
  )
  await machine.keyboard.press('escape')
})

test('the agent of GnuPG stands in for that of ssh if the user says so', async () => {
  const generator = '/etc/systemd/user-environment-generators/90gpg-agent'
  assert.equal(await run([generator]), '')
  await run('mkdir -m 700 -p .gnupg; echo enable-ssh-support >.gnupg/gpg-agent.conf')
  assert.match(await run([generator]), /^SSH_AUTH_SOCK=.*S\.gpg-agent\.ssh$/m)
})

test('the panel and the backdrop come back after a crash', async () => {
  const before = await takePicture()
  await run(['pkill', '-KILL', '-x', 'xfce4-panel'])
  await run(['pkill', '-KILL', '-x', 'xfdesktop'])
  await eventually(
    'the desktop looks the same again',
    async () => (await difference(before, await takePicture())) < 0.1,
  )
})

/** Restarts the machine and waits until its desktop is complete. */
async function restart(): Promise<void> {
  await machine.stop()
  await machine.start()
  await machine.display.get()
  await eventually('the panel runs', () => succeeds(['pgrep', '-x', 'xfce4-panel']))
  await eventually('nothing more starts', async () => {
    const before = await takePicture()
    await run('sleep 2')
    return (await difference(before, await takePicture())) === 0
  })
}

async function takePicture(area = allButTheClock): Promise<Buffer> {
  const { bytes } = await machine.screenshot({ format: 'png' })
  return sharp(Buffer.from(bytes)).extract(area).png().toBuffer()
}

async function isGone(program: string): Promise<boolean> {
  return !(await succeeds(['pgrep', '-x', program]))
}

async function succeeds(command: Command): Promise<boolean> {
  return (await machine.exec(command)).exitCode === 0
}

/** The standard output of a command that must exit with 0. */
async function run(command: Command, options: ExecOptions = {}): Promise<string> {
  const { stdout, stderr, exitCode } = await machine.exec(command, options)
  if (exitCode === 0) return stdout
  throw new Error(`${command} exited with ${exitCode}: ${stderr}`)
}
