/** Names of types that programs already have in languages with generators. Most are known before any import. */

import { readdirSync, readFileSync } from 'node:fs'

/** The names of browsers and JavaScript, as TypeScript declares them. */
function ofTypeScript(): string[] {
  const folder = 'node_modules/typescript/lib'
  const files = readdirSync(folder).filter((file) => /^lib\.(dom|es).*\.d\.ts$/.test(file))
  const declarations = /^(?:declare )?(?:var|let|const|function|class|interface|type|namespace) (\w+)/gm
  return files.flatMap((file) => {
    const text = readFileSync(`${folder}/${file}`, 'utf8')
    return [...text.matchAll(declarations)].map(([, name = '']) => name)
  })
}

const java = `AbstractMethodError Appendable ArithmeticException ArrayList Arrays AutoCloseable Base64 BitSet Boolean Byte Calendar
  Character Class ClassLoader Cloneable Collection Collections Comparable Comparator Currency Date Deque Dictionary Double
  Enum Error Exception File Float Formatter Function HashMap HashSet Integer Iterable Iterator LinkedList List Locale Long
  Map Math Module Number Object Objects Optional Override Package Path Process ProcessBuilder Properties Queue Random
  Readable Record Runnable Runtime Scanner Set Short Stack StackTraceElement StackWalker String StringBuilder StringJoiner
  System Thread ThreadLocal Throwable Timer TimerTask UUID Vector Void`

const kotlin =
  'Any Annotation Array Char CharSequence Int Lazy Nothing Pair Regex Result Sequence Triple UInt ULong Unit'

const python = `Annotated Any BaseException BaseModel Callable ClassVar Decimal Dict Ellipsis Enum Exception False Field Final
  FrozenSet Generic KeyError List Literal Match NamedTuple None NotImplemented OSError Optional Path Pattern Protocol
  RuntimeError Sequence Set Text TimeoutError True Tuple Type TypeError TypeVar UUID Union ValidationError ValueError`

const csharp = `Action Attribute Buffer Char Console Convert DateTime Decimal Delegate Dictionary Encoding Environment Exception
  Func Guid Index Int32 Lazy List Match Nullable Range Stream String Task Thread TimeSpan Tuple Type Uri Version`

const others = `Box Bool Codable Data Decodable DateTime Duration Encodable Err Future Hash Identifiable Int Integer Kernel List
  Map Match Method Module None Ok Option Pattern Proc Rc Regexp Result Self Some Stream String Struct Symbol Thread Time
  Type URL Uri Vec`

export function takenNames(): ReadonlySet<string> {
  const lists = [java, kotlin, python, csharp, others].flatMap((list) => list.split(/\s+/))
  return new Set([...ofTypeScript(), ...lists])
}
