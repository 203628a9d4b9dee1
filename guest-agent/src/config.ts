/** The settings that a test changes. The defaults are those of a machine. */
export type Config = {
  readonly socketPath: string
  /** Owner of the desktop; relative paths start from this user's home. */
  readonly agentUser: string
  readonly xSocketPath: string
  readonly xAuthorityPath: string
  readonly rfbSocketPath: string
  /** Trees that the file routes never touch. */
  readonly deniedPaths: readonly string[]
  /** Holds the machine's secrets; must be in memory. */
  readonly secretsFolder: string
  /** The root of the machine's disk. */
  readonly rootPath: string
}

export function readConfig(env: NodeJS.ProcessEnv): Config {
  return {
    socketPath: env.COMPUTER_AGENT_SOCKET ?? '/run/computer/agent.sock',
    agentUser: env.COMPUTER_AGENT_USER ?? 'agent',
    xSocketPath: env.COMPUTER_AGENT_X_SOCKET ?? '/tmp/.X11-unix/X0',
    xAuthorityPath: env.COMPUTER_AGENT_XAUTHORITY ?? '/home/agent/.Xauthority',
    rfbSocketPath: env.COMPUTER_AGENT_RFB_SOCKET ?? '/run/xvnc/rfb.sock',
    deniedPaths: ['/run/computer', '/opt/computer', '/dev/incus', '/run/xvnc'],
    secretsFolder: env.COMPUTER_AGENT_SECRETS ?? '/run/computer',
    rootPath: env.COMPUTER_AGENT_ROOT ?? '/',
  }
}
