/** Two nodes to compare. A history of 100,000 commits must cost the same as one of 100. */

import { timeOf } from './measure.ts'
import { importCommits } from './repositories.ts'
import { type BenchNode, openScene, type Scene } from './scene.ts'

export const longHistory = 100_000
const shortHistory = 100

export interface Histories {
  readonly scene: Scene
  readonly long: BenchNode
  readonly short: BenchNode
  /**
   * Milliseconds of the long history's first page, for which the index catches up. `restarted` is the same after a
   * restart.
   */
  readonly followed: number
  readonly restarted: number
  close(): Promise<void>
}

/** Opens the histories on a service with two workers. */
export async function openHistories(): Promise<Histories> {
  const scene = await openScene(2)
  try {
    const long = await scene.node()
    const short = await scene.node()
    await importCommits(long.repo, longHistory)
    await importCommits(short.repo, shortHistory)
    const read = async ({ at }: BenchNode) => {
      const connection = scene.connect()
      await connection.get(`${at}/tree/main/commits?limit=50`)
      connection.close()
    }
    const followed = await timeOf(() => read(long))
    await read(short)
    await scene.restart()
    const restarted = await timeOf(() => read(long))
    return { scene, long, short, followed, restarted, close: scene.close }
  } catch (error) {
    await scene.close()
    throw error
  }
}
