import type { User } from '../system/users.ts'

export type Login = { readonly user: User; readonly environment: Readonly<Record<string, string>> }

export type LoginOptions = {
  readonly user: User
  readonly ownsDesktop: boolean
  readonly secrets: Readonly<Record<string, string>>
}

/** A user with the environment of a login shell, and access to the desktop if the user owns it. */
export function makeLogin(options: LoginOptions): Login {
  return { user: options.user, environment: loginEnvironment(options) }
}

function loginEnvironment({ user, ...options }: LoginOptions): Record<string, string> {
  return { ...baseEnvironment(user, options), ...options.secrets }
}

function baseEnvironment(
  user: User,
  options: { readonly ownsDesktop: boolean },
): Record<string, string> {
  const environment = {
    HOME: user.home,
    USER: user.name,
    LOGNAME: user.name,
    SHELL: user.shell,
    PATH: [`${user.home}/.local/bin`, ...(user.uid === 0 ? rootPath : userPath)].join(':'),
    LANG: 'en_US.UTF-8',
  }
  if (!options.ownsDesktop) return environment
  const runtimePath = `/run/user/${user.uid}`
  return {
    ...environment,
    DISPLAY: ':0',
    XDG_RUNTIME_DIR: runtimePath,
    DBUS_SESSION_BUS_ADDRESS: `unix:path=${runtimePath}/bus`,
    ...desktopSettings(),
  }
}

/** The desktop's settings from /etc/environment of the image: themes, menus, defaults of programs. */
function desktopSettings(): Record<string, string> {
  const names = ['XDG_CONFIG_DIRS', 'XDG_CURRENT_DESKTOP', 'XDG_MENU_PREFIX', 'NO_AT_BRIDGE']
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

const userPath = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/local/games', '/usr/games']
const rootPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']
