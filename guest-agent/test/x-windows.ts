import { changeProperty, createWindow } from '../src/x11/requests.ts'
import { predefinedAtom, type XSession } from '../src/x11/session.ts'

type WindowOptions = {
  readonly title?: string
  /** As bytes of WM_NAME, in Latin-1, which is what programs of old set. */
  readonly plainTitle?: Buffer
  readonly program?: string
  readonly type?: '_NET_WM_WINDOW_TYPE_DESKTOP' | '_NET_WM_WINDOW_TYPE_DOCK'
}

/** What a window manager and its programs tell of their windows, which are as small as possible and show nothing. */
export function openWindows({ x, root, atoms }: XSession) {
  const listed: number[] = []
  const setWords = (window: number, property: number, type: number, words: readonly number[]) => {
    const bytes = Buffer.from(Uint32Array.from(words).buffer)
    x.send(changeProperty(window, property, type, 32, bytes))
  }
  const list = () => setWords(root, atoms._NET_CLIENT_LIST, predefinedAtom.window, listed)
  const open = async ({ title, plainTitle, program, type }: WindowOptions = {}) => {
    const id = x.newId()
    x.send(createWindow(id, root, 0))
    const setBytes = (property: number, kind: number, bytes: Buffer) =>
      x.send(changeProperty(id, property, kind, 8, bytes))
    const { wmName, wmClass, string, atom } = predefinedAtom
    if (title !== undefined) setBytes(atoms._NET_WM_NAME, atoms.UTF8_STRING, Buffer.from(title))
    if (plainTitle) setBytes(wmName, string, plainTitle)
    if (program !== undefined) setBytes(wmClass, string, Buffer.from(`instance\0${program}\0`))
    if (type) setWords(id, atoms._NET_WM_WINDOW_TYPE, atom, [atoms[type]])
    x.send(windowRequest(8, id))
    await x.sync()
    return id
  }
  return {
    /** Not listed, as without a window manager. */
    open,
    async openListed(options: WindowOptions = {}): Promise<number> {
      const id = await open(options)
      listed.push(id)
      list()
      await x.sync()
      return id
    },
    async close(id: number): Promise<void> {
      if (listed.includes(id)) listed.splice(listed.indexOf(id), 1)
      list()
      x.send(windowRequest(4, id))
      await x.sync()
    },
    /** From now on the agent finds a desktop that is up. */
    async startDesktop(): Promise<void> {
      const manager = await open()
      const check = atoms._NET_SUPPORTING_WM_CHECK
      for (const window of [manager, root])
        setWords(window, check, predefinedAtom.window, [manager])
      await this.openListed({ type: '_NET_WM_WINDOW_TYPE_DESKTOP' })
      await this.openListed({ type: '_NET_WM_WINDOW_TYPE_DOCK' })
    },
  }
}

function windowRequest(opcode: number, window: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes[0] = opcode
  bytes.writeUInt16LE(2, 2)
  bytes.writeUInt32LE(window, 4)
  return bytes
}
