/*
 * Files that programs write by themselves, and which tell nothing of what a person did. Names and paths are as the
 * file system has them, with one character for each byte.
 */

/** Directories at any depth. */
const ignoredFolders = new Set([
  '.cache',
  '.git',
  '.hg',
  '.svn',
  '.dbus',
  '.npm',
  '.pki',
  '.mozilla',
  '.thunderbird',
  '__pycache__',
  'node_modules',
])

/** Below the home. */
const ignoredPaths = [
  // Profiles of browsers.
  /^\.config\/(chromium|google-chrome|brave|bravesoftware|microsoft-edge|vivaldi|opera)[^/]*$/i,
  /^(snap|\.var\/app)\/[^/]*(chromium|firefox)[^/]*$/i,
  /^\.config\/(dconf|pulse)$/,
  /^\.local\/state$/,
  /^\.local\/share\/(pki|gvfs-metadata)$/,
  /^\.local\/share\/recently-used[^/]*$/,
  /^\.(Xauthority|ICEauthority|xsession-errors|vnc)[^/]*$/,
]

const ignoredFiles = [
  // Locks: of any program, and of office programs.
  /^\.?(lock|parentlock|LOCK)$/,
  /^\.~lock\..*#$/,
  /\.(lck|swp|swx)$/,
  // Journals of databases.
  /-(journal|wal|shm)$/,
  // The parts of a file that is being written.
  /^\.goutputstream-/,
]

export function isIgnoredFolder(name: string, path: string): boolean {
  return ignoredFolders.has(name) || isIgnoredPath(path)
}

/** An empty file called `*.lock` is a lock; others of that name are what package managers keep. */
export function isIgnoredFile(name: string, path: string, size: number): boolean {
  const isLock = size === 0 && name.endsWith('.lock')
  return isLock || ignoredFiles.some((pattern) => pattern.test(name)) || isIgnoredPath(path)
}

function isIgnoredPath(path: string): boolean {
  return ignoredPaths.some((pattern) => pattern.test(path))
}
