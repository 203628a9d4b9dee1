import { readFileSync, statSync } from 'node:fs'
import { AgentError } from '../errors.ts'

export type User = {
  readonly name: string
  readonly uid: number
  readonly gid: number
  readonly home: string
  readonly shell: string
  /** Supplementary groups, the primary one included. */
  readonly groups: readonly number[]
}

/** The users of a machine, reloaded when /etc/passwd or /etc/group change. */
export class Users {
  readonly #etcPath: string
  #stamp = ''
  #byName = new Map<string, User>()
  #nameByUid = new Map<number, string>()

  constructor(etcPath: string) {
    this.#etcPath = etcPath
  }

  find(name: string): User | undefined {
    this.#refresh()
    return this.#byName.get(name)
  }

  require(name: string): User {
    const user = this.find(name)
    if (user) return user
    throw new AgentError('precondition_failed', `this machine has no user ${name}`)
  }

  /** As `ls -l` shows it: the number if the user has no name. */
  nameOf(uid: number): string {
    this.#refresh()
    return this.#nameByUid.get(uid) ?? String(uid)
  }

  #refresh(): void {
    const passwdPath = `${this.#etcPath}/passwd`
    const groupPath = `${this.#etcPath}/group`
    const stamp = [passwdPath, groupPath]
      .map((path) => statSync(path, { bigint: true }).mtimeNs)
      .join()
    if (stamp === this.#stamp) return

    const groupsOf = new Map<string, number[]>()
    for (const [, , gid, members = ''] of readTable(groupPath)) {
      for (const member of members.split(',')) {
        groupsOf.set(member, [...(groupsOf.get(member) ?? []), Number(gid)])
      }
    }
    this.#byName = new Map()
    this.#nameByUid = new Map()
    for (const [name = '', , uid, gid, , home = '/', shell = ''] of readTable(passwdPath)) {
      const groups = [...new Set([Number(gid), ...(groupsOf.get(name) ?? [])])]
      const user = {
        name,
        uid: Number(uid),
        gid: Number(gid),
        home,
        shell: shell || '/bin/sh',
        groups,
      }
      this.#byName.set(name, user)
      if (!this.#nameByUid.has(user.uid)) this.#nameByUid.set(user.uid, name)
    }
    this.#stamp = stamp
  }
}

function readTable(path: string): string[][] {
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.filter((line) => line.includes(':')).map((line) => line.split(':'))
}
