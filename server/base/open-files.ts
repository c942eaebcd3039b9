/** The limit of open files of this process. */
import { readFileSync } from 'node:fs'
import { report } from 'node:process'

/** Returns how many files the process may open. Infinity: there is no limit, or the system reports none. */
export function mostOpenFiles(): number {
  const limit = Number(openFilesLimit())
  return Number.isNaN(limit) ? Number.POSITIVE_INFINITY : limit
}

/** Returns the soft limit, which may be `unlimited`. Undefined if the system does not report it. */
export function openFilesLimit(): string | undefined {
  try {
    return /^Max open files +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  } catch {
    // Not on Linux, or no file can be opened. Node's report takes 8 ms, and more if it resolves names of connected
    // addresses. Its shape is from Node's documentation, and the types lack the option.
    Object.assign(report, { excludeNetwork: true })
    const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: string | number } } }
    return userLimits?.open_files?.soft?.toString()
  }
}
