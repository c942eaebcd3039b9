/** Names of browsers and systems in `User-Agent` headers, so that users recognise their sessions. */

/** Browsers by their marks. Most browsers also have the marks of those below them. */
const browsers: readonly (readonly [mark: RegExp, name: string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|Chromium|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bVersion\/\S+ (?:Mobile\/\S+ )?Safari\//, 'Safari'],
  [/^git\//, 'Git'],
  [/^curl\//, 'curl'],
]

const systems: readonly (readonly [mark: RegExp, name: string])[] = [
  [/\b(?:iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows NT\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

/** Returns a name such as *Firefox on Linux*. For an unknown browser, it is the header itself. */
export function clientName(userAgent: string | undefined): string {
  if (userAgent === undefined || userAgent.trim() === '') return 'Unknown client'
  const found = (names: typeof browsers) => names.find(([mark]) => mark.test(userAgent))?.[1]
  const [browser, system] = [found(browsers), found(systems)]
  if (browser === undefined) return userAgent
  return system === undefined ? browser : `${browser} on ${system}`
}
