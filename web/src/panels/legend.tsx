// What the signs in the picture mean. Owns nothing.

const SIGNS: [string, string][] = [
  ["owned", "letter and colour: the program that has it"],
  ["leaving", "leaving"],
  ["guest", "guest in the lower half"],
  ["free", "free"],
  ["outside", "load from outside"],
  ["away", "reserved, offline"],
  ["policy", "another policy"],
];

export function Legend() {
  return (
    <ul class="legend">
      {SIGNS.map(([sign, words]) => (
        <li key={sign}>
          <svg class={`sign ${sign}`} viewBox="0 0 28 16" width="28" height="16" aria-hidden="true">
            <rect class="whole" x="0.5" y="0.5" width="27" height="15" />
            {sign === "guest" && <rect class="lower" x="0.5" y="8" width="27" height="7.5" />}
            {sign === "policy" && <path d="M14 0V11M14 10.5L19 15.5H9z" />}
            {sign === "outside" && <path d="M2 15L15 1M10 15L23 1M18 15L27 5M1 8L7 1" />}
          </svg>
          {words}
        </li>
      ))}
    </ul>
  );
}
