import { execFile } from 'node:child_process'
import { readdir, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isSeed } from './images.ts'
import { captureIdOf, refOf } from './instance.ts'

const run = promisify(execFile)
const largestLogBytes = 8 * 2 ** 20

/**
 * Removes link pairs that a start or a stop has left, both ends on the host and one of them down. The other is
 * on our bridge, or has been taken from it already; then the filters of a machine name it that is stopped or
 * deleted. A start in progress looks the same, so a pair is removed only if it looks so both before and after a
 * moment without any start in progress.
 */
export async function sweepLinks(
  { network, project }: { readonly network: string; readonly project: string },
  engine: { isBusy(): Promise<boolean>; listDown(): Promise<ReadonlySet<string>> },
): Promise<void> {
  const listLeaked = async () => {
    const [down, filters] = await Promise.all([engine.listDown(), listFilters(project)])
    const owned = filters.filter(({ name }) => down.has(name)).map(({ link }) => link)
    return findLeaked(await listLinks(), network, new Set(owned))
  }
  const before = await listLeaked()
  if (before.length === 0 || (await engine.isBusy())) return
  const after = new Set(await listLeaked())
  for (const link of before) {
    // Its peer is deleted with it. It may be gone already.
    if (after.has(link)) await run('ip', ['link', 'delete', 'dev', link]).catch(() => {})
  }
}

/** Removes a bridge without ports. One in use, and a link of another kind, stay. */
export async function removeUnusedBridge(name: string): Promise<void> {
  const ports = await readdir(join('/sys/class/net', name, 'brif')).catch(() => undefined)
  if (ports?.length !== 0) return
  // It may be gone already.
  await run('ip', ['link', 'delete', 'dev', name, 'type', 'bridge']).catch(() => {})
}

/**
 * Removes the filters of links that are gone, which a daemon leaves when it dies while a machine goes
 * down. Other engines on this host use the same table, so only filters of our own links are removed.
 */
export async function sweepFilters(project: string): Promise<void> {
  const filters = await listFilters(project)
  const links = new Set((await listLinks()).map(({ ifname }) => ifname))
  for (const { chain, link } of filters) {
    if (links.has(link)) continue
    await run('nft', ['delete', 'chain', 'bridge', 'incus', chain]).catch(() => {})
  }
}

type Filter = { readonly chain: string; readonly name: string; readonly link: string }

/** The filters of the project's machines, each with the name of its machine and the link that it filters. */
async function listFilters(project: string): Promise<readonly Filter[]> {
  const table = await run('nft', ['--json', 'list', 'table', 'bridge', 'incus']).catch(
    () => undefined,
  )
  if (!table) return []
  const linkOf = new Map<string, string>()
  for (const { rule } of (JSON.parse(table.stdout) as { nftables: { rule?: Rule }[] }).nftables) {
    const link = rule?.expr.find(({ match }) => match?.left.meta?.key === 'iifname')?.match?.right
    if (rule && typeof link === 'string') linkOf.set(rule.chain, link)
  }
  return [...linkOf].flatMap(([chain, link]) => {
    const [, owner] = /^(?:in|fwd)\.(.+)\.eth0$/.exec(chain) ?? []
    const name = owner?.startsWith(`${project}_`) ? owner.slice(project.length + 1) : ''
    return name.startsWith('mch-') ? [{ chain, name, link }] : []
  })
}

type InstanceFolder = { readonly path: string; readonly name: string }

/** The two folders that the engine keeps of every instance that it ever ran. */
export async function listFolders(
  engineDir: string,
  project: string,
): Promise<readonly InstanceFolder[]> {
  const folders: InstanceFolder[] = []
  for (const parent of ['logs', 'run']) {
    for (const entry of await readdir(join(engineDir, parent)).catch(() => [])) {
      if (!entry.startsWith(`${project}_`)) continue
      const name = entry.slice(project.length + 1)
      if (refOf(name) || captureIdOf(name) || isSeed(name))
        folders.push({ path: join(engineDir, parent, entry), name })
    }
  }
  return folders
}

/** Removes the folders of deleted instances. Those of a machine with filters stay: they show that it was ours. */
export async function sweepFolders(
  project: string,
  deleted: readonly InstanceFolder[],
): Promise<void> {
  if (deleted.length === 0) return
  const filtered = new Set((await listFilters(project)).map(({ name }) => name))
  for (const { path, name } of deleted) {
    if (!filtered.has(name)) await rm(path, { recursive: true, force: true })
  }
}

/** Every exec adds to its machine's log until the next start, so a large log is emptied. */
export async function trimLogs(folders: readonly InstanceFolder[]): Promise<void> {
  for (const { path: folder } of folders) {
    const path = join(folder, 'lxc.log')
    const size = await stat(path).then(
      (found) => found.size,
      () => 0,
    )
    if (size > largestLogBytes) await truncate(path)
  }
}

type Rule = {
  readonly chain: string
  readonly expr: readonly {
    readonly match?: { readonly left: { readonly meta?: { readonly key: string } }; right: unknown }
  }[]
}

type Link = {
  readonly ifname: string
  readonly link?: string
  readonly link_netnsid?: number
  readonly operstate: string
  readonly master?: string
}

async function listLinks(): Promise<readonly Link[]> {
  const { stdout } = await run('ip', ['-json', 'link', 'show', 'type', 'veth'])
  return JSON.parse(stdout) as Link[]
}

function findLeaked(
  links: readonly Link[],
  network: string,
  owned: ReadonlySet<string>,
): readonly string[] {
  const down = new Set(links.filter((link) => link.operstate === 'DOWN').map((link) => link.ifname))
  return links
    .filter(({ link_netnsid }) => link_netnsid === undefined)
    .filter(({ ifname, master }) => master === network || (!master && owned.has(ifname)))
    .filter(({ link }) => link !== undefined && down.has(link))
    .map(({ ifname }) => ifname)
}
