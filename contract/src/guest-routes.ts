/*
 * The protocol between the server and the agent inside a machine: HTTP/2 without TLS over the guest
 * channel, to the agent's unix socket. Only the server can reach the socket, so requests carry no
 * credential. Bodies are JSON unless a route says bytes.
 *
 * The fence. The agent stores the highest fence it has received, and the fence at which the present
 * holding of the input lease began. Every input carries its fence. The agent refuses a fence from
 * before the holding (`fence_stale`), and one higher than it knows (`fence_unknown`): it has just
 * started, and the server sends it the current fence and tries again. POST /fence for a new holding
 * responds only when no input of an earlier one can reach the display: the agent has aborted what
 * was running and released what was pressed. Within a holding it is a renewal, and earlier fences
 * of the holding stay valid (docs/decisions/0009).
 *
 * Private mode. The fence carries the session to which the screen is private. From the answer on, the agent refuses
 * the looks of all others (`screen_private`), has ended those that were under way, and has closed their screen streams.
 *
 * This file has no schemas: the agent loads those of a subject when it is first called.
 */

export const guestDesktopRoutes = {
  fence: { method: 'POST', path: '/fence' },
  display: { method: 'GET', path: '/display' },
  /**
   * Bytes of the image. The screen that it shows has its id in x-screenshot-id. Its size is in x-image-width and
   * x-image-height, the display's in x-display-width and x-display-height; x-settled is true or false after a
   * wait, and x-changing x,y,width,height.
   */
  screenshot: { method: 'GET', path: '/screenshot' },
  /** Answers when the screen differs from one that was shown, or after the caller's time. */
  waitForScreen: { method: 'GET', path: '/screen/wait' },
  input: { method: 'POST', path: '/input' },
  readClipboard: { method: 'GET', path: '/clipboard' },
} as const

export const guestFileRoutes = {
  listFiles: { method: 'GET', path: '/files' },
  /** Bytes; the file's size in x-file-size, its absolute path (URI-encoded) in x-file-path. */
  readFile: { method: 'GET', path: '/files/content' },
  /** Bytes in, WrittenFile out. */
  writeFile: { method: 'PUT', path: '/files/content' },
  /** An archive of the directory (tar.ts). */
  readArchive: { method: 'GET', path: '/files/archive' },
  /** An archive in, WrittenArchive out. */
  writeArchive: { method: 'PUT', path: '/files/archive' },
  deleteFile: { method: 'DELETE', path: '/files' },
  moveFile: { method: 'POST', path: '/files/move' },
} as const

/** The agent's terminals; their bytes go over POST /terminal (guest-streams.ts). */
export const guestTerminalRoutes = {
  /** Idempotent: returns the terminal of that id if it was opened before. */
  openTerminal: { method: 'POST', path: '/terminals' },
  listTerminals: { method: 'GET', path: '/terminals' },
  /** Includes a terminal whose command has just exited, which can still be attached to. */
  readTerminal: { method: 'GET', path: '/terminal' },
  resizeTerminal: { method: 'POST', path: '/terminals/resize' },
  /** Responds when no process of its session runs any more. */
  killTerminal: { method: 'POST', path: '/terminals/kill' },
} as const

/** The agent's background processes. Their input and output are base64. */
export const guestProcessRoutes = {
  /** Idempotent: returns the process of that id if it was started before. */
  startProcess: { method: 'POST', path: '/processes' },
  listProcesses: { method: 'GET', path: '/processes' },
  readProcess: { method: 'GET', path: '/process' },
  readProcessLog: { method: 'GET', path: '/process/log' },
  writeProcessInput: { method: 'POST', path: '/process/stdin' },
  signalProcess: { method: 'POST', path: '/process/signal' },
} as const

/** The delivery of secrets to a machine. */
export const guestSecretRoutes = {
  /** Replaces the whole set. Responds when programs started from now on have it. */
  setSecrets: { method: 'PUT', path: '/secrets' },
  /** The state of the set, without its values. */
  readSecrets: { method: 'GET', path: '/secrets' },
} as const

export const guestRoutes = {
  health: { method: 'GET', path: '/health' },
  identity: { method: 'POST', path: '/identity' },
  exec: { method: 'POST', path: '/exec' },
  usage: { method: 'GET', path: '/usage' },
  /** Responds when everything written so far is on the disk. */
  flush: { method: 'POST', path: '/flush' },
  /** The windows, the files that changed since a time, and a mark of the clipboard (guest-brief.ts). */
  brief: { method: 'GET', path: '/brief' },
  ...guestDesktopRoutes,
  ...guestFileRoutes,
  ...guestTerminalRoutes,
  ...guestProcessRoutes,
  ...guestSecretRoutes,
} as const

/** Streams both ways (guest-streams.ts). */
export const guestStreams = {
  screen: { method: 'POST', path: '/screen' },
  terminal: { method: 'POST', path: '/terminal' },
  port: { method: 'POST', path: '/port' },
} as const
