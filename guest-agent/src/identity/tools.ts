import { runProgram } from '../program.ts'

/** What the identity changes outside of files. */
export type SystemTools = {
  setHostname(name: string): Promise<void>
  /** Into etc/ssh below `prefix`, which is there. */
  makeHostKeys(prefix: string): Promise<void>
  /** Only if it runs. */
  restartSshd(): Promise<void>
}

export const systemTools: SystemTools = {
  setHostname: (name) => runProgram('/usr/bin/hostname', [name], { timeoutMs: 5_000 }),
  makeHostKeys: (prefix) =>
    runProgram('/usr/bin/ssh-keygen', ['-A', '-f', prefix], { timeoutMs: 60_000 }),
  restartSshd: () =>
    runProgram('/usr/bin/systemctl', ['try-restart', 'ssh.service'], { timeoutMs: 10_000 }),
}
