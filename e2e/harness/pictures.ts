import sharp from 'sharp'

/** The average difference of two pictures, of 255; infinite for pictures of different sizes. */
export async function difference(a: Buffer, b: Buffer): Promise<number> {
  const [first, second] = await Promise.all(
    [a, b].map((image) => sharp(image).removeAlpha().raw().toBuffer({ resolveWithObject: true })),
  )
  const { width, height } = first!.info
  if (second!.info.width !== width || second!.info.height !== height) return Infinity
  let sum = 0
  for (const [index, value] of first!.data.entries()) sum += Math.abs(value - second!.data[index]!)
  return sum / first!.data.length
}
