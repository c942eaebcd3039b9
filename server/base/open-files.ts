/** How many files this process may open. */
import { report } from 'node:process'

/** The most files that the process may open; Infinity without a limit, or if the system does not report one. */
export function mostOpenFiles(): number {
  const limit = Number(openFilesLimit())
  return Number.isNaN(limit) ? Number.POSITIVE_INFINITY : limit
}

/** Undefined if the system does not report it. */
export function openFilesLimit(): string | undefined {
  try {
    // Otherwise the report looks up the name of each address with a connection. Not in the types.
    Object.assign(report, { excludeNetwork: true })
    // The shape in node's documentation of reports.
    const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: string | number } } }
    return String(userLimits?.open_files?.soft)
  } catch {
    return undefined
  }
}
