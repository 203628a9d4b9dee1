/** A failure of a tool, with a message written for the model. */
export class ToolError extends Error {
  override name = 'ToolError'
}
