/** Samples the memory and open files of a service, and checks if they have grown. */

import { nodeProcesses, openFiles, residentMemory } from './processes.ts'

export interface Sample {
  readonly pid: number
  /** MiB */
  readonly memory: number
  readonly files: readonly string[]
}

/** Takes one sample of each process of the service. */
export async function sample(pid: number): Promise<Sample[]> {
  const pids = await nodeProcesses(pid)
  return Promise.all(
    pids.map(async (each) => ({
      pid: each,
      memory: (await residentMemory(each)) / 2 ** 20,
      files: await openFiles(each),
    })),
  )
}

export interface Memory {
  readonly pid: number
  /** MiB, the minimum of each third. */
  readonly thirds: readonly number[]
}

/** Memory by process, from samples at equal intervals. */
export function memoryOf(samples: readonly (readonly Sample[])[]): Memory[] {
  const last = samples.at(-1) ?? []
  const third = samples.length / 3
  return last.map(({ pid }) => ({
    pid,
    thirds: [0, 1, 2].map((part) => {
      const within = samples.slice(Math.floor(part * third), Math.floor((part + 1) * third))
      return Math.min(...within.flat().flatMap((one) => (one.pid === pid ? [one.memory] : [])))
    }),
  }))
}

/** Describes memory that has grown too much, with a line for each process. */
export function grownMemory(memory: readonly Memory[], bound: { readonly mib: number; readonly share: number }) {
  return memory.flatMap(({ pid, thirds: [, second = 0, third = 0] }) => {
    const allowed = Math.max(bound.mib, second * bound.share)
    const grown = third - second
    return grown <= allowed
      ? []
      : [`Process ${pid} grew ${grown.toFixed(0)} MiB in the last third; ${allowed} are allowed`]
  })
}

/** Describes the processes with more open files than `before`, and names the files. */
export function grownFiles(before: readonly Sample[], now: readonly Sample[]): string[] {
  return now.flatMap(({ pid, files }) => {
    const known = before.find((one) => one.pid === pid)?.files ?? []
    if (files.length <= known.length) return []
    const fresh = files.filter((file) => !known.includes(file)).slice(0, 10)
    return [`Process ${pid} has ${files.length} open files instead of ${known.length}: ${fresh.join(', ')}`]
  })
}
