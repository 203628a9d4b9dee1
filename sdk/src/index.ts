export { Computer } from './computer.ts'
export { ApiError, type ClientErrorCode, type LeaseHolder } from './errors.ts'
export type {
  ActivityFilter,
  FollowedActivity,
  MachineActivity,
  OrganizationActivity,
} from './activity.ts'
export type { Auth } from './auth.ts'
export type { Billing, Plans, Usage } from './billing.ts'
export type { Budgets } from './budgets.ts'
export type { Clipboard, ClipboardOptions } from './clipboard.ts'
export type {
  Display as MachineDisplay,
  Screenshot,
  ScreenshotOptions,
  ScreenWaitOptions,
} from './display.ts'
export type { EventFilter, Events, MachineEvents, OrganizationEvent } from './events.ts'
export type { SubscribeOptions, Subscription } from './feed.ts'
export type { Command } from './command.ts'
export type { ExecOptions } from './exec.ts'
export type { FileContents, Files, ReadOptions, WriteOptions } from './files.ts'
export type { AskForHelpOptions, HelpResult } from './help.ts'
export type { GuestTaken, HelpGuest } from './help-guest.ts'
export type { HelpFilter, HelpRequests, MachineHelpRequests } from './help-requests.ts'
export type { Input } from './input.ts'
export type { Keyboard } from './keyboard.ts'
export type { AcquireOptions } from './lease.ts'
export type { DeleteOptions } from './lifecycle.ts'
export type { Machine } from './machine.ts'
export type { CreateMachineOptions, MachineFilter, Machines } from './machines.ts'
export type { ClickOptions, Mouse } from './mouse.ts'
export type {
  CallOptions,
  ComputerOptions,
  InputOptions,
  WaitOptions,
  WebSocketConstructor,
  WebSocketLike,
} from './options.ts'
export type { List, Page, PageOptions } from './pages.ts'
export type { Ports } from './ports.ts'
export type { InputSource, Processes } from './processes.ts'
export type { GuestScreenOptions, Screen, ScreenMessage, ScreenOptions } from './screen.ts'
export type { ScreenPointer } from './screen-pointer.ts'
export { isStaleScreen, ScreenGuard } from './screen-guard.ts'
export type { Secrets } from './secrets.ts'
export type { Sessions } from './sessions.ts'
export type { MachineSnapshots, SnapshotFilter, Snapshots } from './snapshots.ts'
export type { Templates } from './templates.ts'
export type { AttachOptions, TerminalConnection } from './terminal-connection.ts'
export type { Terminals } from './terminals.ts'
export type { Webhooks } from './webhooks.ts'
export type * from './wire/records.ts'
