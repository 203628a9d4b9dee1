/** Codes and masks of the core protocol's events that the agent uses. */
export const eventCode = {
  keyPress: 2,
  keyRelease: 3,
  buttonPress: 4,
  buttonRelease: 5,
  motionNotify: 6,
  configureNotify: 22,
  propertyNotify: 28,
  selectionClear: 29,
  selectionRequest: 30,
  selectionNotify: 31,
  clientMessage: 33,
  mappingNotify: 34,
} as const

export const eventMask = {
  structureNotify: 1 << 17,
  substructureNotify: 1 << 19,
  substructureRedirect: 1 << 20,
  propertyChange: 1 << 22,
} as const
