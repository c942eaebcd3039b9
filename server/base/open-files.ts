/** The limit of open files of this process. */
import { report } from 'node:process'

/** Returns how many files the process may open. Infinity: there is no limit, or the system reports none. */
export function mostOpenFiles(): number {
  const limit = Number(openFilesLimit())
  return Number.isNaN(limit) ? Number.POSITIVE_INFINITY : limit
}

/** Returns the soft limit, which may be `unlimited`. Undefined if the system does not report it. */
export function openFilesLimit(): string | undefined {
  try {
    // Otherwise the report resolves the name of each connected address. The types lack this option.
    Object.assign(report, { excludeNetwork: true })
    // The shape is from Node's documentation of reports.
    const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: string | number } } }
    return String(userLimits?.open_files?.soft)
  } catch {
    return undefined
  }
}
