/** Distinguishes the process that runs the background jobs from other workers. */

/** True if this process runs the background jobs, as one without `workerEnvironment` does. */
export function isSweeper(variables: NodeJS.ProcessEnv = process.env): boolean {
  return variables.GROVE_WORKER_SWEEPS !== 'no'
}
