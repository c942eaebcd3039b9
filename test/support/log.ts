/** What a service has logged. */

/** The lines that tell of a fault. 503 `busy` and a refused push are answers like any other, which the test that asked has judged. */
export function faultsIn(log: string): string[] {
  const isAnswer = (line: string) => /"code":"busy"|"statusCode":503|"a push was refused"/.test(line)
  return log.split('\n').filter((line) => line !== '' && !isAnswer(line))
}
