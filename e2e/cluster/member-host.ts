import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eventually } from '../harness/polling.ts'
import { makeMemberCgroups } from './member-cgroups.ts'
import type { MemberPlace } from './member-network.ts'

const run = promisify(execFile)

/**
 * A host in name spaces: with a network, mounts, cgroups and process ids of its own, on the file systems of this one.
 * Without the name space of cgroups, a worker could freeze machines of another host and no test would notice.
 */
export type MemberHost = {
  /** Starts a program on the host. It ends when its caller does. */
  spawn(argv: readonly string[], env: NodeJS.ProcessEnv): ChildProcess
  /** Ends all processes at once, as a power cut does. Files stay. */
  crash(): Promise<void>
}

/** Starts a host behind a bridge. It ends with this process, even if that is killed. */
export async function startMemberHost(folder: string, place: MemberPlace): Promise<MemberHost> {
  await mkdir(folder, { recursive: true, mode: 0o711 })
  await rm(join(folder, 'ready'), { force: true })
  const groups = await makeMemberCgroups(place.name)
  const args = [folder, place.name, ...groups.hierarchies]
  const holder = spawn('sh', ['-c', holdScript, 'sh', ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(holder, 'close')
  await eventually('the name spaces are ready', async () => existsSync(join(folder, 'ready')))
  // The first process of the name spaces.
  const init = String(await findChild(holder))
  await groups.settle()
  await connect(init, place)
  return {
    spawn(argv, env) {
      const join = groups.entrances.map((file) => `echo $$ >${file}; `).join('')
      // nsenter passes no signal on.
      const script = `${join}exec nsenter --target ${init} -m -n -C -u -p -- setpriv --pdeathsig TERM "$@"`
      return spawn('sh', ['-c', script, 'sh', ...argv], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    },
    async crash() {
      holder.kill('SIGKILL')
      await ended
      await groups.remove()
      await removeLink(place.name)
    },
  }
}

/** Signals a program on a host, whose caller is outside of the name spaces. */
export async function killChild(caller: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  process.kill(await findChild(caller), signal)
}

async function findChild({ pid }: ChildProcess): Promise<number> {
  const [child] = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ')
  return Number(child)
}

async function connect(init: string, place: MemberPlace): Promise<void> {
  const { name, bridge, address, gateway } = place
  // A run that was killed may have left its link.
  await removeLink(name)
  const peer = ['peer', 'name', 'eth0', 'netns', init]
  await run('ip', ['link', 'add', name, 'type', 'veth', ...peer])
  await run('ip', ['link', 'set', name, 'master', bridge, 'up'])
  const script = `ip address add ${address}/28 dev eth0; ip link set eth0 up; ip link set lo up
    ip route add default via ${gateway}
    echo 1 >/proc/sys/net/ipv4/ip_forward`
  await run('nsenter', ['--target', init, '-n', '-m', '--', 'sh', '-ec', script])
}

/** By itself it goes with the network of the host, which outlives all processes while a connection awaits its end. */
async function removeLink(name: string): Promise<void> {
  await run('ip', ['link', 'delete', name]).catch(() => {})
}

/** Joins the groups, and then makes a host around a process that waits. Arguments: folder, name, hierarchies. */
const holdScript = `
folder=$1 name=$2; shift 2
for hierarchy; do echo $$ >/sys/fs/cgroup/$hierarchy/$name/cgroup.procs; done
mkdir -p "$folder/sys"
exec setpriv --pdeathsig KILL unshare --net --cgroup --uts --mount --pid --fork --mount-proc --kill-child \\
  --propagation private sh -ec '
  folder=$1 name=$2; shift 2
  hostname "$name"
  mount -t sysfs sysfs "$folder/sys"
  mount -t tmpfs tmpfs "$folder/sys/fs/cgroup"
  for hierarchy; do
    mkdir -p "$folder/sys/fs/cgroup/$hierarchy"
    case $hierarchy in
      systemd) options="-t cgroup -o none,name=systemd" ;;
      unified | .) options="-t cgroup2" ;;
      *) options="-t cgroup -o $hierarchy" ;;
    esac
    mount $options cgroup "$folder/sys/fs/cgroup/$hierarchy"
  done
  mount --rbind "$folder/sys" /sys
  # Machines may mount a proc of their own only where a whole one is to be seen.
  mkdir -p "$folder/proc"; mount -t proc proc "$folder/proc"
  cat /proc/sys/kernel/random/uuid >"$folder/boot_id"
  mount --bind "$folder/boot_id" /proc/sys/kernel/random/boot_id
  touch "$folder/ready"
  exec sleep infinity' sh "$folder" "$name" "$@"
`
