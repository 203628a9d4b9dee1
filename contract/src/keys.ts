/**
 * Aliases of keys, case-insensitive, and the X keysym each stands for (wire, Key names). Any other
 * name must be that of a keysym, such as Return, F5 or eacute.
 */
export const keyAliases: Readonly<Record<string, string>> = {
  enter: 'Return',
  return: 'Return',
  esc: 'Escape',
  escape: 'Escape',
  ctrl: 'Control_L',
  control: 'Control_L',
  alt: 'Alt_L',
  option: 'Alt_L',
  shift: 'Shift_L',
  cmd: 'Super_L',
  super: 'Super_L',
  win: 'Super_L',
  space: 'space',
  tab: 'Tab',
  backspace: 'BackSpace',
  delete: 'Delete',
  del: 'Delete',
  up: 'Up',
  down: 'Down',
  left: 'Left',
  right: 'Right',
  home: 'Home',
  end: 'End',
  pageup: 'Prior',
  pagedown: 'Next',
}
