/** Reads the log of a service. */

/**
 * Returns the lines that report a fault. 503 `busy` and a refused push are ordinary answers, which the test that caused
 * them has checked.
 */
export function faultsIn(log: string): string[] {
  const isAnswer = (line: string) => /"code":"busy"|"statusCode":503|"a push was refused"/.test(line)
  return log.split('\n').filter((line) => line !== '' && !isAnswer(line))
}
