/** What a service has logged. */

/** The lines that tell of a fault. 503 `busy` is an answer like any other, and whoever asked has judged it. */
export function faultsIn(log: string): string[] {
  const isBusy = (line: string) => /"code":"busy"|"statusCode":503/.test(line)
  return log.split('\n').filter((line) => line !== '' && !isBusy(line))
}
