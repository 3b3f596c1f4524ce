// A small piece of the colour, pattern and letter of an application, as in the picture. Owns nothing.

import type { Model } from "../model";
import { mark, type Hatch } from "../palette";

const LINES: Record<Hatch, string> = {
  none: "",
  rising: "M-2 8L8 -2M-2 18L18 -2M4 22L22 4M12 22L22 12",
  falling: "M-2 12L12 26M-2 4L16 22M4 -2L22 16M12 -2L22 8",
  upright: "M3 0V20M8 0V20M13 0V20M18 0V20",
  level: "M0 3H20M0 8H20M0 13H20M0 18H20",
  grid: "M5 0V20M13 0V20M0 5H20M0 13H20",
  dots: "M3 1v2M9 1v2M15 1v2M3 8v2M9 8v2M15 8v2M3 15v2M9 15v2M15 15v2",
};

// The letter stands on the plain colour, the pattern beside it: both must be recognized at this size.
const STRIP = 11;

export function Patch({ model, app }: { model: Model; app: number }) {
  const { colour, hatch, ink } = mark(model.application(app).place);
  const sign = model.signOf(app);
  const plain = Math.max(20, 8 + sign.length * 10);
  const width = hatch === "none" ? plain : plain + STRIP;
  return (
    <svg class="patch" viewBox={`0 0 ${width} 20`} width={`${width / 14}em`} height={`${20 / 14}em`} aria-hidden="true">
      <rect width={width} height="20" rx="3" fill={colour} />
      {hatch !== "none" && (
        <svg x={plain} width={STRIP - 1} height="20">
          <path d={LINES[hatch]} stroke={ink} stroke-opacity="0.6" stroke-width="1.5" fill="none" />
        </svg>
      )}
      <text x={plain / 2} y="15" text-anchor="middle" fill={ink}>
        {sign}
      </text>
    </svg>
  );
}
