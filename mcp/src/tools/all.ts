import type { Tool } from '../tool.ts'
import { browserTools } from './browser.ts'
import { clipboardTools } from './clipboard.ts'
import { commandTools } from './commands.ts'
import { fileTools } from './files.ts'
import { helpTools } from './help.ts'
import { inputTools } from './input.ts'
import { machineTools } from './machines.ts'
import { portTools } from './ports.ts'
import { screenTools } from './screen.ts'
import { snapshotTools } from './snapshots.ts'
import { templateTools } from './templates.ts'
import { usageTools } from './usage.ts'

/** All tools, in the order in which the model sees them. */
export const tools: readonly Tool[] = [
  ...machineTools,
  ...screenTools,
  ...inputTools,
  ...clipboardTools,
  ...browserTools,
  ...helpTools,
  ...commandTools,
  ...fileTools,
  ...snapshotTools,
  ...templateTools,
  ...portTools,
  ...usageTools,
]
